// The dense formats: f32, f16 and bf16 rows as the checkpoint stores them, [out, in] row-major.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/half.h"
#include "weights/format.h"

namespace verbatim {
namespace {

constexpr std::int32_t kSegment = 256;

std::int32_t segment_end(const Weight& weight, std::int32_t first) {
  return std::min((first / kSegment + 1) * kSegment, weight.in_features);
}

// The row's bytes; checkpoints do not align them.
const std::byte* row_bytes(const Weight& weight, std::int32_t row, std::span<float> out) {
  check(row >= 0 && row < weight.out_features, "the row exists");
  check(out.size() == static_cast<std::size_t>(weight.in_features), "a row is decoded whole");
  return weight.planes[0].data() +
         static_cast<std::size_t>(row) * out.size() * weight.format->element_bytes;
}

void decode_f32(const Weight& weight, std::int32_t row, std::span<float> out) {
  std::memcpy(out.data(), row_bytes(weight, row, out), out.size_bytes());
}

template <float (*kWiden)(std::uint16_t)>
void decode_half(const Weight& weight, std::int32_t row, std::span<float> out) {
  const std::byte* from = row_bytes(weight, row, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    out[i] = kWiden(bits);
  }
}

}  // namespace

const WeightFormat kFormatF32{.name = "f32",
                              .segment_end = segment_end,

                              .decode_row = decode_f32,
                              .element_bytes = 4};
const WeightFormat kFormatF16{.name = "f16",
                              .segment_end = segment_end,

                              .decode_row = decode_half<from_f16>,
                              .element_bytes = 2};
const WeightFormat kFormatBF16{.name = "bf16",
                               .segment_end = segment_end,

                               .decode_row = decode_half<from_bf16>,
                               .element_bytes = 2};

Weight dense_weight(const WeightFormat& format, std::span<const std::byte> bytes, std::int32_t out,
                    std::int32_t in) {
  check(format.element_bytes > 0, "the format is dense");
  check(out > 0 && in > 0, "a weight has rows and columns");
  check(bytes.size() ==
            static_cast<std::size_t>(out) * static_cast<std::size_t>(in) * format.element_bytes,
        "a dense weight has the bytes of its shape");
  return {.format = &format, .out_features = out, .in_features = in, .planes = {bytes, {}, {}, {}}};
}

}  // namespace verbatim
