// Panels are the transpose of sixteen rows, a block at a time: words of four bytes (one float32, or
// two bfloat16 of one row) or of two (float16).
#include "cpu/kernels/linear_pack.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernel_table.h"

namespace verbatim {
namespace {

constexpr std::size_t kLineBytes = 64;

// Rows of `row_bytes` bytes into [words per row][16] words; missing rows and bytes are zero.
template <typename Word>
void transpose(const std::byte* rows, std::int64_t count, std::size_t row_bytes, std::byte* panel) {
  constexpr std::size_t kWords = kLineBytes / sizeof(Word);
  const std::size_t words = (row_bytes + sizeof(Word) - 1) / sizeof(Word);
  for (std::size_t first = 0; first < words; first += kWords) {
    Word in[kLanes][kWords] = {};
    const std::size_t bytes = std::min(kLineBytes, row_bytes - first * sizeof(Word));
    for (std::int64_t lane = 0; lane < count; ++lane) {
      std::memcpy(in[lane],
                  rows + static_cast<std::size_t>(lane) * row_bytes + first * sizeof(Word), bytes);
    }
    const std::size_t columns = std::min(kWords, words - first);
    for (std::size_t word = 0; word < columns; ++word) {
      Word out[kLanes];
      for (std::size_t lane = 0; lane < kLanes; ++lane) out[lane] = in[lane][word];
      std::memcpy(panel + (first + word) * sizeof out, out, sizeof out);
    }
  }
}

// Calls body(first row's bytes, rows there are, panel) for each panel.
template <typename Word>
void pack(const Weight& weight, std::int64_t panel, std::int64_t panels, std::size_t panel_bytes,
          std::byte* packed) {
  const std::size_t row_bytes =
      static_cast<std::size_t>(weight.in_features) * weight.format->element_bytes;
  for (std::int64_t p = panel; p < panel + panels; ++p) {
    const std::int64_t row = p * kLanes;
    const std::int64_t rows = std::min<std::int64_t>(kLanes, weight.out_features - row);
    std::byte* to = packed + static_cast<std::size_t>(p) * panel_bytes;
    // The last line of an odd number of halves has a part that no row fills.
    std::memset(to + panel_bytes - kLineBytes, 0, kLineBytes);
    transpose<Word>(weight.planes[0].data() + static_cast<std::size_t>(row) * row_bytes, rows,
                    row_bytes, to);
  }
}

std::size_t panels_of(std::int32_t out) {
  return static_cast<std::size_t>((out + kLanes - 1) / kLanes);
}
std::size_t f32_panel_bytes(std::int32_t in) {
  return static_cast<std::size_t>(in) * kLineBytes;
}
std::size_t half_panel_bytes(std::int32_t in) {
  return static_cast<std::size_t>((in + 1) / 2) * kLineBytes;
}

}  // namespace

std::size_t f32_packed_bytes(const Weight& weight) {
  return panels_of(weight.out_features) * f32_panel_bytes(weight.in_features);
}
std::size_t half_packed_bytes(const Weight& weight) {
  return panels_of(weight.out_features) * half_panel_bytes(weight.in_features);
}

void pack_f32(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack<std::uint32_t>(weight, panel, panels, f32_panel_bytes(weight.in_features), packed);
}
void pack_f16(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack<std::uint16_t>(weight, panel, panels, half_panel_bytes(weight.in_features), packed);
}
void pack_bf16(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack<std::uint32_t>(weight, panel, panels, half_panel_bytes(weight.in_features), packed);
}

}  // namespace verbatim
