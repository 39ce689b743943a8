// A row of activations rounded to int8 by a scale and a zero of its own, as Activations defines it.
// (A NaN becomes 127 and counts as neither least nor largest.) Sums of codes are exact as floats: a
// group has at most 2^16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.h"
#include "cpu/kernels/quantize_rows.h"

namespace verbatim {

struct AsymmetricScale {
  float scale;
  float zero;  // a whole number
};

template <typename V>
AsymmetricScale asymmetric_scale(const float* x, std::int32_t in) {
  V most = V::zero();
  V least = V::zero();  // negated
  for (std::int32_t k = 0; k < in; k += V::kLanes) {
    const V value = in - k < V::kLanes ? V::load(x + k, in - k) : V::load(x + k);
    most = V::max(value, most);
    least = V::max(V::neg(value), least);
  }
  const float low = V::max_of(least);
  const float wide = (V::max_of(most) + low) / 255.0F;
  const float scale = wide < 0x1p-23F ? 0x1p-23F : wide;
  // One lane's worth of work, but of the lanes' rounding.
  const V below = V::add(V::set(-128.0F), V::round(V::set(low / scale)));
  float zeros[V::kLanes];
  V::store(zeros, V::max(V::min(below, V::set(127.0F)), V::set(-128.0F)));
  return {scale, zeros[0]};
}

// Writes whole runs of sixteen codes, zeros beyond `count`, and returns their sum.
template <typename V, typename D>
std::int32_t round_codes_asymmetric(const float* x, std::int32_t count, AsymmetricScale by,
                                    std::int8_t* codes) {
  const V inverse = V::set(1.0F / by.scale);
  const V zero = V::set(by.zero);
  const V most = V::set(127.0F);
  const V least = V::set(-128.0F);
  V sum = V::zero();
  for (std::int32_t k = 0; k < count; k += V::kLanes) {
    const std::int32_t left = count - k;
    const V value = left < V::kLanes ? V::load(x + k, left) : V::load(x + k);
    const V code = V::max(V::min(V::add(V::round(V::mul(value, inverse)), zero), most), least);
    D::store_codes(codes + k, code);
    sum = V::add(sum, code);
  }
  // What was loaded beyond the end are zeros, whose code is the row's zero.
  const std::int32_t beyond = (V::kLanes - count % V::kLanes) % V::kLanes;
  for (std::int32_t k = count; k < count + beyond; ++k) codes[k] = 0;
  return static_cast<std::int32_t>(V::sum(sum)) - beyond * static_cast<std::int32_t>(by.zero);
}

template <typename V, typename D>
void round_row_asymmetric(const float* x, std::int32_t in, std::int32_t group, std::byte* to) {
  const AsymmetricScale by = asymmetric_scale<V>(x, in);
  *static_cast<float*>(static_cast<void*>(to)) = by.scale;
  *static_cast<std::int32_t*>(static_cast<void*>(to + 4)) = static_cast<std::int32_t>(by.zero);
  round_groups<V>(x, in, group, to, [&](const float* from, std::int32_t count, std::int8_t* codes) {
    return round_codes_asymmetric<V, D>(from, count, by, codes);
  });
}

}  // namespace verbatim
