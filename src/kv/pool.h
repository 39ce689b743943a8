// The KV cache: pages of 64 positions, one pool per model, and one sequence's pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/page.h"
#include "tensor/tensor.h"

namespace verbatim {

struct KvLayout {
  std::int32_t layers = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
};

// Bytes of one page of one layer: for every head its keys, then its values.
std::size_t kv_page_bytes(const KvLayout& layout, int codec);

// Ids of pages, and the bytes behind them. One thread at a time. Pages handed out are zeroed once,
// when the pool is made; a page that comes back keeps its old bytes.
class KvPool {
 public:
  // storage holds pages * layers * kv_page_bytes(); codec is an index into KvCodecs::kNames.
  KvPool(KvLayout layout, int codec, std::int32_t pages, Buffer storage);
  static std::size_t storage_bytes(const KvLayout& layout, int codec, std::int32_t pages);
  std::int32_t pages() const { return pages_; }
  std::int32_t free_pages() const { return static_cast<std::int32_t>(free_.size()); }
  std::byte* page(std::int32_t layer, std::int32_t id) const;
  const KvLayout& layout() const { return layout_; }
  int codec() const { return codec_; }

 private:
  friend class KvSequence;
  KvLayout layout_;
  int codec_ = 0;
  std::int32_t pages_ = 0;
  std::size_t page_bytes_ = 0;
  Buffer storage_;
  std::vector<std::int32_t> free_;
};

// One sequence's pages. Returns them when it ends.
class KvSequence {
 public:
  explicit KvSequence(KvPool& pool) : pool_(pool) {}
  KvSequence(const KvSequence&) = delete;
  KvSequence& operator=(const KvSequence&) = delete;
  ~KvSequence();
  // Room for so many positions in all; false when the pool lacks it, and nothing is taken then.
  [[nodiscard]] bool reserve(std::int64_t length);
  void advance(std::int64_t rows);          // once the last layer has stored them
  void truncate(std::int64_t length);       // forgets what lies behind
  void drop_before(std::int64_t position);  // gives back whole pages that no query can reach
  void clear();                             // gives everything back and starts at position 0
  const KvPool& pool() const { return pool_; }
  std::int64_t length() const { return length_; }
  std::int64_t first_page() const { return first_page_; }         // pages before it were given back
  std::span<const std::int32_t> pages() const { return pages_; }  // from first_page() on

 private:
  KvPool& pool_;
  std::int64_t length_ = 0;
  std::int64_t first_page_ = 0;
  std::vector<std::int32_t> pages_;
};

}  // namespace verbatim
