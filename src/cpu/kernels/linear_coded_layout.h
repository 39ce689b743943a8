// How weights of codes and scales lie in memory once packed: a header, the order of the input
// features where there is one, then panels of sixteen outputs. A panel is one stream: for each
// segment of k a line of sixteen scales, a line of sixteen zeros with their signs turned (where
// there are zeros), and the codes in lines of 64 bytes, the same number of input features each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_tile.h"

namespace verbatim {

constexpr std::int32_t kCodedSmallestGroup = 16;

struct CodedHeader {
  std::int32_t group = 0;  // input features under one scale
  std::int32_t zeros = 0;  // 1: a line of zeros follows the scales
  std::int32_t order = 0;  // 1: int32 [in_features] follows the header
  std::int32_t segments = 0;
  std::uint64_t panels_at = 0;  // bytes from the header to the first panel
  std::uint64_t panel_bytes = 0;
  alignas(kLineBytes) float book[16] = {};  // what each code of four bits means
};
static_assert(sizeof(CodedHeader) == 2 * kLineBytes);

// Walks the segments: a group is cut at every 256 input features of its own.
struct CodedSegment {
  std::int32_t in_features;
  std::int32_t group;
  std::int32_t group_left;
  std::int32_t first;
  std::int32_t count;

  [[gnu::always_inline]] CodedSegment(std::int32_t in, std::int32_t group_size)
      : in_features(in), group(group_size), group_left(group_size), first(0), count(0) {
    measure();
  }
  [[gnu::always_inline]] bool exists() const { return first < in_features; }
  [[gnu::always_inline]] void next() {
    first += count;
    group_left = group_left == count ? group : group_left - count;
    measure();
  }

 private:
  [[gnu::always_inline]] void measure() {
    count = in_features - first;
    if (count > group_left) count = group_left;
    if (count > kLinearSegment) count = kLinearSegment;
  }
};

[[gnu::always_inline]] inline std::size_t coded_head_bytes(bool zeros) {
  return zeros ? 2 * kLineBytes : kLineBytes;
}
[[gnu::always_inline]] inline std::size_t coded_code_bytes(int count, int line_inputs) {
  return static_cast<std::size_t>((count + line_inputs - 1) / line_inputs) * kLineBytes;
}

}  // namespace verbatim
