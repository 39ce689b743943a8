// RMS norm of one row: out[i] = gain[i] * (x[i] * (1 / sqrt(mean(x^2) + eps))), the reference's two
// roundings. The squares go into sixteen running sums by index modulo 16, joined by the fixed tree.
#pragma once

#include <cstdint>

namespace verbatim {

template <typename V>
void rms_norm(const float* x, const float* gain, float eps, float* out, std::int64_t n) {
  const std::int64_t whole = n / V::kLanes * V::kLanes;
  const int rest = static_cast<int>(n - whole);
  V squares = V::zero();
  for (std::int64_t i = 0; i < whole; i += V::kLanes) {
    const V value = V::load(x + i);
    squares = V::fma(value, value, squares);
  }
  if (rest != 0) {
    const V value = V::load(x + whole, rest);
    squares = V::fma(value, value, squares);
  }
  const V mean = V::div(V::set(V::sum(squares)), V::set(static_cast<float>(n)));
  const V scale = V::div(V::set(1.0F), V::sqrt(V::add(mean, V::set(eps))));
  for (std::int64_t i = 0; i < whole; i += V::kLanes) {
    V::store(out + i, V::mul(V::load(gain + i), V::mul(V::load(x + i), scale)));
  }
  if (rest == 0) return;
  const V value = V::mul(V::load(x + whole, rest), scale);
  V::store(out + whole, V::mul(V::load(gain + whole, rest), value), rest);
}

}  // namespace verbatim
