// The quantised formats: codes of four or eight bits, a scale for each group of them.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/half.h"
#include "weights/format.h"

namespace verbatim {
namespace {

constexpr std::int32_t kLongestSegment = 256;

std::int32_t segment_end(const Weight& weight, std::int32_t first) {
  const std::int32_t group = first / weight.group * weight.group;
  const std::int32_t left = weight.in_features - group;
  const std::int32_t cut = ((first - group) / kLongestSegment + 1) * kLongestSegment;
  return group + std::min({cut, weight.group, left});
}

// With int8 activations sums are integers, exact in any order, so a group is never cut.
std::int32_t group_end(const Weight& weight, std::int32_t first) {
  return std::min((first / weight.group + 1) * weight.group, weight.in_features);
}

template <typename T>
const T* plane(const Weight& weight, std::size_t index) {
  const std::span<const std::byte> bytes = weight.planes[index];
  return bytes.empty() ? nullptr : static_cast<const T*>(static_cast<const void*>(bytes.data()));
}

float rounded(float value, DType to) {
  if (to == DType::kF16) return from_f16(to_f16(value));
  if (to == DType::kBF16) return from_bf16(to_bf16(value));
  return value;
}

// Calls put(place, group) along a row, group by group.
template <typename Put>
void each_place(const Weight& weight, const Put& put) {
  for (std::int32_t place = 0, group = 0; place < weight.in_features; ++group) {
    const std::int32_t end = place + std::min(weight.group, weight.in_features - place);
    for (; place < end; ++place) put(place, group);
  }
}

struct Nibbles {
  explicit Nibbles(const Weight& weight, std::int32_t row)
      : codes(plane<std::uint8_t>(weight, 0) +
              static_cast<std::int64_t>(row) * ((weight.in_features + 1) / 2)) {}
  std::int32_t at(std::int32_t place) const { return (codes[place / 2] >> (place % 2 * 4)) & 15; }
  const std::uint8_t* codes;
};

struct SignedNibbles : Nibbles {
  using Nibbles::Nibbles;
  std::int32_t at(std::int32_t place) const { return Nibbles::at(place) - 8; }
};

struct SignedBytes {
  explicit SignedBytes(const Weight& weight, std::int32_t row)
      : codes(plane<std::int8_t>(weight, 0) + std::int64_t{row} * weight.in_features) {}
  std::int32_t at(std::int32_t place) const { return codes[place]; }
  const std::int8_t* codes;
};

std::int64_t first_group(const Weight& weight, std::int32_t row, std::span<float> out) {
  check(row >= 0 && row < weight.out_features, "the row exists");
  check(out.size() == static_cast<std::size_t>(weight.in_features), "a row is decoded whole");
  return std::int64_t{row} * ((weight.in_features + weight.group - 1) / weight.group);
}

template <bool kAsItsReader>
void decode_nf4(const Weight& weight, std::int32_t row, std::span<float> out) {
  const float* scales = plane<float>(weight, 1) + first_group(weight, row, out);
  const float* book = plane<float>(weight, 2);
  const DType to = kAsItsReader ? weight.rounded_to : DType::kF32;
  const Nibbles codes(weight, row);
  each_place(weight, [&](std::int32_t place, std::int32_t group) {
    out[static_cast<std::size_t>(place)] = rounded(book[codes.at(place)] * scales[group], to);
  });
}

template <typename Codes, bool kAsItsReader>
void decode_integers(const Weight& weight, std::int32_t row, std::span<float> out) {
  const std::int64_t first = first_group(weight, row, out);
  const float* scales = plane<float>(weight, 1) + first;
  const std::int8_t* zeros = plane<std::int8_t>(weight, 2);
  const std::int32_t* order = plane<std::int32_t>(weight, 3);
  const DType to = kAsItsReader ? weight.rounded_to : DType::kF32;
  const Codes codes(weight, row);
  each_place(weight, [&](std::int32_t place, std::int32_t group) {
    const std::int32_t zero = zeros == nullptr ? 0 : zeros[first + group];
    const auto number = static_cast<float>(codes.at(place) - zero);
    const std::int32_t feature = order == nullptr ? place : order[place];
    out[static_cast<std::size_t>(feature)] = rounded(number * scales[group], to);
  });
}

template <typename Codes>
constexpr WeightFormat integers(const char* name) {
  return {.name = name,
          .segment_end = segment_end,
          .decode_row = decode_integers<Codes, false>,
          .reference_row = decode_integers<Codes, true>};
}

template <typename Codes>
constexpr WeightFormat with_int8_rows(const char* name, Activations activations) {
  return {.name = name,
          .activations = activations,
          .segment_end = group_end,
          .decode_row = decode_integers<Codes, false>,
          .reference_row = decode_integers<Codes, true>};
}

}  // namespace

const WeightFormat kFormatNf4{.name = "nf4",
                              .segment_end = segment_end,
                              .decode_row = decode_nf4<false>,
                              .reference_row = decode_nf4<true>};
const WeightFormat kFormatInt4 = integers<SignedNibbles>("int4");
const WeightFormat kFormatInt8 = integers<SignedBytes>("int8");
const WeightFormat kFormatW8A8 = with_int8_rows<SignedBytes>("w8a8", Activations::kInt8PerRow);
const WeightFormat kFormatW4A8 = with_int8_rows<SignedNibbles>("w4a8", Activations::kInt8PerRow);
const WeightFormat kFormat8da8w =
    with_int8_rows<SignedBytes>("8da8w", Activations::kInt8Asymmetric);
const WeightFormat kFormat8da4w =
    with_int8_rows<SignedNibbles>("8da4w", Activations::kInt8Asymmetric);

}  // namespace verbatim
