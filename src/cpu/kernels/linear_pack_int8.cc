// Codes for int8 activations into panels. Bytes are biased to unsigned ones, which is what
// multiplies with signed activations on most machines; halves of bytes already are.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels/linear_int8_layout.h"

namespace verbatim {
namespace {

struct W8 {
  static constexpr std::int32_t kLineInputs = 4;
  static constexpr std::int32_t kOffset = 128;
  static std::size_t row_bytes(std::int32_t in) { return static_cast<std::size_t>(in); }
  static std::uint8_t code(const std::byte* row, std::int32_t k) {
    return static_cast<std::uint8_t>(row[k] ^ std::byte{0x80});
  }
  static void put(std::byte* line, std::int32_t output, std::int32_t input, std::uint8_t code) {
    line[output * 4 + input] = static_cast<std::byte>(code);
  }
};

// A line's low halves are the codes of its first four input features, the high halves those of the
// next four.
struct W4 {
  static constexpr std::int32_t kLineInputs = 8;
  static constexpr std::int32_t kOffset = 8;
  static std::size_t row_bytes(std::int32_t in) { return static_cast<std::size_t>((in + 1) / 2); }
  static std::uint8_t code(const std::byte* row, std::int32_t k) {
    const auto pair = static_cast<std::uint8_t>(row[k / 2]);
    return static_cast<std::uint8_t>(k % 2 == 0 ? pair & 15 : pair >> 4);
  }
  static void put(std::byte* line, std::int32_t output, std::int32_t input, std::uint8_t code) {
    line[output * 4 + input % 4] |= static_cast<std::byte>(input < 4 ? code : code << 4);
  }
};

// What follows the scales of a group.
enum class Tail : std::uint8_t { kZeros, kCodeSums };

template <typename Codes, Tail kTail>
Int8Layout layout_of(const Weight& weight) {
  check(weight.group > 0 && (weight.group % 16 == 0 || weight.group >= weight.in_features),
        "groups are multiples of sixteen input features, or hold a row");
  check(weight.group <= 1 << 16, "sums of a group fit 32 bits");
  return {weight.in_features, std::min(weight.group, weight.in_features), Codes::kLineInputs,
          kTail == Tail::kZeros && weight.planes[2].empty() ? std::size_t{64} : std::size_t{128}};
}

template <typename Codes, Tail kTail>
std::size_t packed_bytes(const Weight& weight) {
  const auto panels = static_cast<std::size_t>((weight.out_features + kLanes - 1) / kLanes);
  return panels * layout_of<Codes, kTail>(weight).panel_bytes();
}

// One group of one panel, whose memory is zero.
template <typename Codes, Tail kTail>
void pack_group(const Weight& weight, const Int8Layout& layout, std::int32_t first_row,
                std::int32_t group, std::byte* to) {
  const std::int32_t first = group * layout.group;
  const std::int32_t count = std::min(layout.group, layout.in - first);
  std::byte* scales = to + layout.code_bytes(count);
  const std::int32_t rows = std::min(kLanes, weight.out_features - first_row);
  for (std::int32_t o = 0; o < rows; ++o) {
    const auto row = static_cast<std::size_t>(first_row + o);
    const std::byte* codes = weight.planes[0].data() + row * Codes::row_bytes(layout.in);
    std::int32_t tail = 0;
    for (std::int32_t k = 0; k < count; ++k) {
      const std::uint8_t code = Codes::code(codes, first + k);
      Codes::put(to + k / Codes::kLineInputs * 64, o, k % Codes::kLineInputs, code);
      tail += code - Codes::kOffset;
    }
    const std::size_t at =
        row * static_cast<std::size_t>(layout.groups()) + static_cast<std::size_t>(group);
    std::memcpy(scales + o * 4, weight.planes[1].data() + at * sizeof(float), sizeof(float));
    if (kTail == Tail::kZeros) {
      if (weight.planes[2].empty()) continue;
      tail = static_cast<std::int8_t>(weight.planes[2][at]);
    }
    std::memcpy(scales + 64 + o * 4, &tail, sizeof tail);
  }
}

template <typename Codes, Tail kTail>
void pack(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  check(weight.planes[3].empty(), "int8 activations come in the order of the input features");
  check(kTail == Tail::kZeros || weight.planes[2].empty(), "rows have zeros, or the weight has");
  const Int8Layout layout = layout_of<Codes, kTail>(weight);
  for (std::int64_t p = panel; p < panel + panels; ++p) {
    std::byte* to = packed + static_cast<std::size_t>(p) * layout.panel_bytes();
    std::memset(to, 0, layout.panel_bytes());
    for (std::int32_t g = 0; g < layout.groups(); ++g, to += layout.group_bytes()) {
      pack_group<Codes, kTail>(weight, layout, static_cast<std::int32_t>(p) * kLanes, g, to);
    }
  }
}

}  // namespace

std::size_t w8a8_packed_bytes(const Weight& weight) {
  return packed_bytes<W8, Tail::kZeros>(weight);
}
std::size_t w4a8_packed_bytes(const Weight& weight) {
  return packed_bytes<W4, Tail::kZeros>(weight);
}
void pack_w8a8(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack<W8, Tail::kZeros>(weight, panel, panels, packed);
}
void pack_w4a8(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed) {
  pack<W4, Tail::kZeros>(weight, panel, panels, packed);
}
std::size_t asymmetric_8w_packed_bytes(const Weight& weight) {
  return packed_bytes<W8, Tail::kCodeSums>(weight);
}
std::size_t asymmetric_4w_packed_bytes(const Weight& weight) {
  return packed_bytes<W4, Tail::kCodeSums>(weight);
}
void pack_asymmetric_8w(const Weight& weight, std::int64_t panel, std::int64_t panels,
                        std::byte* packed) {
  pack<W8, Tail::kCodeSums>(weight, panel, panels, packed);
}
void pack_asymmetric_4w(const Weight& weight, std::int64_t panel, std::int64_t panels,
                        std::byte* packed) {
  pack<W4, Tail::kCodeSums>(weight, panel, panels, packed);
}

}  // namespace verbatim
