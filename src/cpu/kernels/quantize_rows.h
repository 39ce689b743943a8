// A row of activations rounded to int8 by one scale: s = max|x| / 127.5, or 2^-23 where that is 0;
// q = x / s, clamped to [-128, 127] and then rounded to the nearest integer, halves to even. (A NaN
// becomes 127 and counts as no maximum.) Sums of codes are exact as floats: a group has at most
// 2^16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.h"

namespace verbatim {

template <typename V>
float rounding_scale(const float* x, std::int32_t in) {
  V most = V::zero();
  std::int32_t k = 0;
  for (; k + V::kLanes <= in; k += V::kLanes) most = V::max(V::abs(V::load(x + k)), most);
  if (k < in) most = V::max(V::abs(V::load(x + k, in - k)), most);
  const float scale = V::max_of(most) / 127.5F;
  return scale == 0.0F ? 0x1p-23F : scale;
}

// Writes whole runs of sixteen codes, zeros beyond `count`, and returns their sum.
template <typename V, typename D>
std::int32_t round_codes(const float* x, std::int32_t count, V scale, std::int8_t* codes) {
  const V most = V::set(127.0F);
  const V least = V::set(-128.0F);
  V sum = V::zero();
  for (std::int32_t k = 0; k < count; k += V::kLanes) {
    const std::int32_t left = count - k;
    const V value = left < V::kLanes ? V::load(x + k, left) : V::load(x + k);
    const V code = V::round(V::max(V::min(V::div(value, scale), most), least));
    D::store_codes(codes + k, code);
    sum = V::add(sum, code);
  }
  return static_cast<std::int32_t>(V::sum(sum));
}

// Fills in the sums and codes of a row: code(x, count, codes) makes those of a group and returns
// their sum.
template <typename V, typename Code>
void round_groups(const float* x, std::int32_t in, std::int32_t group, std::byte* to,
                  const Code& code) {
  const RoundedRow row = rounded_row(in, group);
  auto* sums = static_cast<std::int32_t*>(static_cast<void*>(to + 64));
  auto* codes = static_cast<std::int8_t*>(static_cast<void*>(to + row.codes));
  for (std::int32_t first = 0; first < in; first += group, ++sums) {
    const std::int32_t count = in - first < group ? in - first : group;
    *sums = code(x + first, count, codes + first);
  }
  // A line is where the last codes of a row may end: what a run leaves of it must be zero.
  const std::int32_t written = (in + V::kLanes - 1) / V::kLanes * V::kLanes;
  for (auto at = row.codes + static_cast<std::size_t>(written); at < row.bytes; ++at) {
    to[at] = std::byte{0};
  }
}

template <typename V, typename D>
void round_row(const float* x, std::int32_t in, std::int32_t group, std::byte* to) {
  const float scale = rounding_scale<V>(x, in);
  *static_cast<float*>(static_cast<void*>(to)) = scale;
  round_groups<V>(x, in, group, to, [&](const float* from, std::int32_t count, std::int8_t* codes) {
    return round_codes<V, D>(from, count, V::set(scale), codes);
  });
}

}  // namespace verbatim
