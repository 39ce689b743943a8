// Linear probing over a power of two. An entry keeps 32 bits of its hash, so that a string is
// compared only where it is almost certainly the same.
#include "text/token_table.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"

namespace verbatim {
namespace {

std::uint32_t hash_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>()(bytes));
}

}  // namespace

TokenTable::TokenTable(std::size_t tokens) : entries_(std::bit_ceil(2 * tokens + 2)) {}

std::size_t TokenTable::position(std::span<const std::string> bytes, std::string_view wanted,
                                 std::uint32_t hash) const {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = hash & mask;
  for (;; at = (at + 1) & mask) {
    const Entry& entry = entries_[at];
    if (entry.token < 0) return at;
    if (entry.hash == hash && bytes[static_cast<std::size_t>(entry.token)] == wanted) return at;
  }
}

std::int32_t TokenTable::insert(std::span<const std::string> bytes, std::int32_t token) {
  check(token >= 0 && static_cast<std::size_t>(token) < bytes.size(), "the token has bytes");
  check(2 * (size_ + 1) <= entries_.size(), "no more tokens than announced");
  const std::string_view wanted = bytes[static_cast<std::size_t>(token)];
  const std::uint32_t hash = hash_of(wanted);
  Entry& entry = entries_[position(bytes, wanted, hash)];
  if (entry.token >= 0) return entry.token;
  entry = {.hash = hash, .token = token};
  ++size_;
  longest_bytes_ = std::max(longest_bytes_, wanted.size());
  return -1;
}

std::int32_t TokenTable::find(std::span<const std::string> bytes, std::string_view wanted) const {
  if (size_ == 0 || wanted.size() > longest_bytes_) return -1;
  return entries_[position(bytes, wanted, hash_of(wanted))].token;
}

}  // namespace verbatim
