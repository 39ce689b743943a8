// The merges of a byte-level BPE: which two neighbouring tokens join, in which order of preference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace verbatim {

struct Merge {
  std::int32_t rank = -1;    // lower joins first; -1: these two do not join
  std::int32_t merged = -1;  // the token they become
};

// An open-addressed table of pairs of tokens; reading is thread-safe.
class MergeTable {
 public:
  MergeTable() = default;
  explicit MergeTable(std::size_t merges);  // room for so many

  // False when the pair is there already. At most as many as were announced.
  [[nodiscard]] bool insert(std::int32_t left, std::int32_t right, Merge merge);
  Merge find(std::int32_t left, std::int32_t right) const;
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint64_t pair = kEmpty;
    Merge merge;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  // The entry of the pair, or the empty one where it would go.
  std::size_t position(std::uint64_t pair) const;

  std::vector<Entry> entries_;  // a power of two, at most half full
  std::size_t size_ = 0;
  int shift_ = 0;
};

}  // namespace verbatim
