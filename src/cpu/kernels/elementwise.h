// Row ops without a sum: SwiGLU, addition, both rotations and the arg max.
#pragma once

#include <cstdint>

#include "cpu/kernels/math.h"

namespace verbatim {

// out[i] = silu(gate[i]) * up[i]; out may be gate or up.
template <typename V>
void swiglu(const float* gate, const float* up, float* out, std::int64_t n) {
  const std::int64_t whole = n / V::kLanes * V::kLanes;
  for (std::int64_t i = 0; i < whole; i += V::kLanes) {
    V::store(out + i, V::mul(silu<V>(V::load(gate + i)), V::load(up + i)));
  }
  const int rest = static_cast<int>(n - whole);
  if (rest == 0) return;
  const V value = V::mul(silu<V>(V::load(gate + whole, rest)), V::load(up + whole, rest));
  V::store(out + whole, value, rest);
}

template <typename V>
void add(float* x, const float* y, std::int64_t n) {
  const std::int64_t whole = n / V::kLanes * V::kLanes;
  for (std::int64_t i = 0; i < whole; i += V::kLanes) {
    V::store(x + i, V::add(V::load(x + i), V::load(y + i)));
  }
  const int rest = static_cast<int>(n - whole);
  if (rest == 0) return;
  V::store(x + whole, V::add(V::load(x + whole, rest), V::load(y + whole, rest)), rest);
}

// Rotates the pairs (i, i + dim / 2) of one head in place. The reference makes x * cos and
// rotate_half(x) * sin and adds them: three roundings, nothing fused.
template <typename V>
void rope(float* head, const float* cos, const float* sin, std::int32_t dim) {
  const std::int32_t half = dim / 2;
  for (std::int32_t i = 0; i < half; i += V::kLanes) {
    const int n = half - i < V::kLanes ? half - i : V::kLanes;
    const V first = V::load(head + i, n);
    const V second = V::load(head + half + i, n);
    const V c = V::load(cos + i, n);
    const V s = V::load(sin + i, n);
    V::store(head + i, V::sub(V::mul(first, c), V::mul(second, s)), n);
    V::store(head + half + i, V::add(V::mul(second, c), V::mul(first, s)), n);
  }
}

// Rotates the pairs (2i, 2i + 1), with the same three roundings. Compilers make wide code of this
// loop: it takes one percent of the projection that made the row. A template for table.h's sake.
template <typename V>
void rope_interleaved(float* head, const float* cos, const float* sin, std::int32_t dim) {
  for (std::int32_t i = 0; i < dim / 2; ++i) {
    const float first = head[2 * i];
    const float second = head[2 * i + 1];
    head[2 * i] = first * cos[i] - second * sin[i];
    head[2 * i + 1] = second * cos[i] + first * sin[i];
  }
}

// The index of the largest value, the lowest where several are equal; NaN counts as smallest.
// Finds the first block of the largest value by lanes, then the value in the block.
template <typename V>
std::int64_t arg_max(const float* values, std::int64_t n) {
  constexpr std::int64_t kBlock = 32 * V::kLanes;
  constexpr float kLeast = -__builtin_inff();
  float best = kLeast;
  std::int64_t found = 0;  // where to look for it
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t end = n - first < kBlock ? n : first + kBlock;
    std::int64_t i = first;
    V even = V::set(kLeast);
    V odd = V::set(kLeast);
    for (; i + 2 * V::kLanes <= end; i += 2 * V::kLanes) {
      even = V::max(V::load(values + i), even);  // a NaN gives way to the right-hand side
      odd = V::max(V::load(values + i + V::kLanes), odd);
    }
    float largest = V::max_of(V::max(even, odd));
    for (; i < end; ++i) largest = values[i] > largest ? values[i] : largest;
    if (largest > best) {
      best = largest;
      found = first;
    }
  }
  for (std::int64_t i = found; i < n; ++i) {
    if (values[i] == best) return i;
  }
  return 0;  // nothing but NaN
}

}  // namespace verbatim
