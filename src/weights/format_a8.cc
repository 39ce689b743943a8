// Formats whose activations are rounded to int8: signed bytes (w8a8), and pairs of codes biased by
// 8 (w4a8).
#include <algorithm>

#include "base/error.h"
#include "weights/format.h"

namespace verbatim {
namespace {

// Integer sums are exact in any order, so a group is never cut.
std::int32_t segment_end(const Weight& weight, std::int32_t first) {
  return std::min((first / weight.group + 1) * weight.group, weight.in_features);
}

std::int32_t signed_byte(const Weight& weight, std::int32_t row, std::int32_t place) {
  const auto at = static_cast<std::size_t>(row) * static_cast<std::size_t>(weight.in_features) +
                  static_cast<std::size_t>(place);
  return static_cast<std::int8_t>(weight.planes[0][at]);
}

std::int32_t biased_half(const Weight& weight, std::int32_t row, std::int32_t place) {
  const std::int32_t row_bytes = (weight.in_features + 1) / 2;
  const auto at = static_cast<std::size_t>(row) * static_cast<std::size_t>(row_bytes) +
                  static_cast<std::size_t>(place / 2);
  const auto pair = static_cast<std::int32_t>(weight.planes[0][at]);
  return (place % 2 == 0 ? pair & 15 : pair >> 4) - 8;
}

template <std::int32_t (*kCode)(const Weight&, std::int32_t, std::int32_t)>
void decode_row(const Weight& weight, std::int32_t row, std::span<float> out) {
  check(row >= 0 && row < weight.out_features, "the row exists");
  check(out.size() == static_cast<std::size_t>(weight.in_features), "a row is decoded whole");
  check(weight.planes[3].empty(), "int8 activations come in the order of the input features");
  const std::int32_t groups = (weight.in_features + weight.group - 1) / weight.group;
  const auto* scales = static_cast<const float*>(static_cast<const void*>(weight.planes[1].data()));
  for (std::int32_t k = 0; k < weight.in_features; ++k) {
    const auto at = static_cast<std::size_t>(row) * static_cast<std::size_t>(groups) +
                    static_cast<std::size_t>(k / weight.group);
    const std::int32_t zero =
        weight.planes[2].empty() ? 0 : static_cast<std::int8_t>(weight.planes[2][at]);
    out[static_cast<std::size_t>(k)] =
        static_cast<float>(kCode(weight, row, k) - zero) * scales[at];
  }
}

}  // namespace

const WeightFormat kFormatW8A8{.name = "w8a8",
                               .activations = Activations::kInt8PerRow,
                               .segment_end = segment_end,
                               .decode_row = decode_row<signed_byte>};
const WeightFormat kFormatW4A8{.name = "w4a8",
                               .activations = Activations::kInt8PerRow,
                               .segment_end = segment_end,
                               .decode_row = decode_row<biased_half>};

}  // namespace verbatim
