// A weight format is a meaning given to bytes: data plus functions without state. decode_row and
// segment_end are its definition; every kernel of every device is tested against them. How files
// store weights of a format is a matter of weights/layout.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace verbatim {

struct WeightFormat;

// What a row of activations is when it meets the weight: as it is, or rounded to int8. Then a
// segment is a group, its sum n is an exact integer (groups of at most 2^16), and the groups follow
// each other as total = fma(float(n), scale, total), from zero; the result is total * s, s being
// the row's scale, then bias and the rest. Rounding is to the nearest integer, halves to even.
enum class Activations : std::uint8_t {
  kFloat,
  // s = max|x| / 127.5 (2^-23 where that is 0); q = x / s, clamped to [-128, 127], then rounded.
  // n = sum(code * q) - zero * sum(q).
  kInt8PerRow,
  // With low and high the least and the largest x and 0: s = (high - low) / 255, at least 2^-23;
  // z = -128 - rounded(low / s), q = rounded(x * (1 / s)) + z, either clamped to [-128, 127].
  // n = sum(code * q) - z * sum(code), which is the sum of code * (q - z); the weight has no zeros.
  // torchao, quant_api.py, _int8_asymm_per_token_quant.
  kInt8Asymmetric,
};

// The planes of a quantised weight, whatever file it came from, all of them row-major by output:
//   0 codes    int4 and nf4: two input features a byte, the even one in the low bits, whole bytes a
//              row; int4 codes are biased by 8, nf4 codes are indices. int8: a signed byte each.
//   1 scales   float32 [out, groups], groups = in_features / group rounded up
//   2 zeros    int8 [out, groups], on the scale of the signed codes; empty: all zero. Of nf4 the
//              code book, float32 [16].
//   3 order    int32 [in]: place j of a row holds input feature order[j]; empty: as they come
// Scales, book and order are aligned as their types. The value at a place is (code - zero) * scale,
// of nf4 book[code] * scale.
struct Weight {
  const WeightFormat* format = nullptr;
  std::int32_t out_features = 0;
  std::int32_t in_features = 0;
  // Input features that share a scale, from a row's first on; 0 where none do (dense formats).
  std::int32_t group = 0;
  DType rounded_to = DType::kF32;  // where the format's own reader rounds code times scale
  std::array<std::span<const std::byte>, 4> planes;
};

struct WeightFormat {
  const char* name;  // as --quant and the log spell it: "bf16", "nf4", "int4", "w8a8"
  Activations activations = Activations::kFloat;
  // Input features (places, where there is an order) are summed in one chain of fused multiply-adds
  // x * code from zero (of nf4 the book's value); the chain that starts at `first` ends at the
  // result: after a group, and at latest after 256. With zeros its sum is fma(-zero, sum of x,
  // sum), where the sum of x over the chain is sixteen running sums, k mod 16, joined pairwise:
  // eight apart, then four, two and one. The chains follow each other: total = fma(sum, scale,
  // total).
  std::int32_t (*segment_end)(const Weight&, std::int32_t first);
  // Row `row` as float32, (code - zero) times scale, not rounded again, in the order of the input
  // features. out.size() == in_features.
  void (*decode_row)(const Weight&, std::int32_t row, std::span<float> out);
  // The same as the format's own reader widens it, rounded to Weight::rounded_to. Only tests use
  // it: it must equal the published dequantiser to the bit. Null: decode_row.
  void (*reference_row)(const Weight&, std::int32_t row, std::span<float> out) = nullptr;
  std::size_t element_bytes = 0;  // of a dense format; 0: quantised
};

extern const WeightFormat kFormatF32;
extern const WeightFormat kFormatF16;
extern const WeightFormat kFormatBF16;
extern const WeightFormat kFormatNf4;
extern const WeightFormat kFormatInt4;
extern const WeightFormat kFormatInt8;
extern const WeightFormat kFormatW8A8;
extern const WeightFormat kFormatW4A8;
extern const WeightFormat kFormat8da8w;
extern const WeightFormat kFormat8da4w;

std::span<const WeightFormat* const> weight_formats();  // weights/registry.cc
std::span<const WeightFormat* const> dense_formats();   // those of them whose elements are floats

// A dense weight over bytes that the caller keeps: row-major [out, in].
Weight dense_weight(const WeightFormat& format, std::span<const std::byte> bytes, std::int32_t out,
                    std::int32_t in);

}  // namespace verbatim
