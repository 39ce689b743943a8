// Pages are ids into one block of memory; a sequence holds ids and gives them back.
#include "kv/pool.h"

#include <cstring>
#include <string>
#include <utility>

#include "kv/codecs.h"

namespace verbatim {
namespace {

template <typename... C>
std::int64_t head_bytes(CodecList<C...>, int codec, std::int32_t head_dim) {
  const std::int64_t bytes[] = {(C::key_bytes(head_dim) + C::value_bytes(head_dim))...};
  return bytes[codec];
}

}  // namespace

int kv_codec(const char* name) {
  std::string known;
  for (std::size_t i = 0; i < KvCodecs::kNames.size(); ++i) {
    if (std::strcmp(name, KvCodecs::kNames[i]) == 0) return static_cast<int>(i);
    append_listed(known, KvCodecs::kNames[i]);
  }
  fail(Code::kInvalidArgument, "KV format '%s' is unknown; known are %s", name, known.c_str());
}

std::size_t kv_page_bytes(const KvLayout& layout, int codec) {
  return static_cast<std::size_t>(layout.kv_heads * head_bytes(KvCodecs{}, codec, layout.head_dim));
}

std::size_t KvPool::storage_bytes(const KvLayout& layout, int codec, std::int32_t pages) {
  return kv_page_bytes(layout, codec) * static_cast<std::size_t>(layout.layers) *
         static_cast<std::size_t>(pages);
}

KvPool::KvPool(KvLayout layout, int codec, std::int32_t pages, Buffer storage)
    : layout_(layout),
      codec_(codec),
      pages_(pages),
      page_bytes_(kv_page_bytes(layout, codec)),
      storage_(std::move(storage)) {
  check(storage_.size() >= storage_bytes(layout, codec, pages),
        "the pool's storage holds its pages");
  free_.reserve(static_cast<std::size_t>(pages));
  for (std::int32_t id = pages - 1; id >= 0; --id) free_.push_back(id);
}

std::byte* KvPool::page(std::int32_t layer, std::int32_t id) const {
  return storage_.data() + (static_cast<std::size_t>(layer) * static_cast<std::size_t>(pages_) +
                            static_cast<std::size_t>(id)) *
                               page_bytes_;
}

KvSequence::~KvSequence() {
  clear();
}

bool KvSequence::reserve(std::int64_t length) {
  const std::int64_t wanted = (length + kPagePositions - 1) / kPagePositions - first_page_;
  const std::int64_t missing = wanted - static_cast<std::int64_t>(pages_.size());
  if (missing <= 0) return true;
  if (missing > pool_.free_pages()) return false;
  pages_.reserve(static_cast<std::size_t>(wanted));
  for (std::int64_t i = 0; i < missing; ++i) {
    pages_.push_back(pool_.free_.back());
    pool_.free_.pop_back();
  }
  return true;
}

void KvSequence::advance(std::int64_t rows) {
  length_ += rows;
  check(length_ <= (first_page_ + static_cast<std::int64_t>(pages_.size())) * kPagePositions,
        "rows were reserved before they were stored");
}

void KvSequence::truncate(std::int64_t length) {
  check(length >= first_page_ * kPagePositions && length <= length_, "a prefix that is still held");
  length_ = length;
}

void KvSequence::drop_before(std::int64_t position) {
  const std::int64_t keep = position / kPagePositions;
  if (keep <= first_page_) return;
  const auto count = static_cast<std::size_t>(keep - first_page_);
  check(count <= pages_.size(), "a window never outruns its sequence");
  for (std::size_t i = 0; i < count; ++i) pool_.free_.push_back(pages_[i]);
  pages_.erase(pages_.begin(), pages_.begin() + static_cast<std::ptrdiff_t>(count));
  first_page_ = keep;
}

void KvSequence::clear() {
  for (const std::int32_t id : pages_) pool_.free_.push_back(id);
  pages_.clear();
  first_page_ = 0;
  length_ = 0;
}

}  // namespace verbatim
