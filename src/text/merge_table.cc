// Linear probing over a power of two; the hash is the top of a product (Knuth's multiplicative
// hash).
#include "text/merge_table.h"

#include <bit>

#include "base/error.h"

namespace verbatim {
namespace {

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t merges)
    : entries_(std::bit_ceil(2 * merges + 2)), shift_(64 - std::countr_zero(entries_.size())) {}

std::size_t MergeTable::position(std::uint64_t pair) const {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> shift_);
  while (entries_[at].pair != pair && entries_[at].pair != kEmpty) at = (at + 1) & mask;
  return at;
}

bool MergeTable::insert(std::int32_t left, std::int32_t right, Merge merge) {
  check(left >= 0 && right >= 0 && merge.rank >= 0, "a merge joins tokens");
  check(2 * (size_ + 1) <= entries_.size(), "no more merges than announced");
  Entry& entry = entries_[position(pair_of(left, right))];
  if (entry.pair != kEmpty) return false;
  entry = {.pair = pair_of(left, right), .merge = merge};
  ++size_;
  return true;
}

Merge MergeTable::find(std::int32_t left, std::int32_t right) const {
  if (entries_.empty()) return {};
  return entries_[position(pair_of(left, right))].merge;
}

}  // namespace verbatim
