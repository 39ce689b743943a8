// What happens to a segment's sums: they are added to y, and after the last segment bias,
// activation, gain and residual follow.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.h"
#include "cpu/kernels/math.h"

namespace verbatim {

// Where a tile's sums [rows][panels][16] belong.
struct TilePlace {
  std::int64_t row;
  std::int64_t rows;
  std::int64_t panel;
  std::int64_t panels;
  bool first;  // segment
  bool last;
};

template <typename V>
V load_lanes(const float* from, int count) {
  return count == V::kLanes ? V::load(from) : V::load(from, count);
}

template <typename V>
V linear_epilogue(const LinearCall& call, std::int64_t row, std::int64_t output, int count,
                  V value) {
  if (call.bias != nullptr) value = V::add(value, load_lanes<V>(call.bias + output, count));
  if (call.activation == KernelActivation::kGelu) value = gelu<V>(value);
  const float* residual =
      call.residual == nullptr ? nullptr : call.residual + row * call.residual_stride + output;
  if (call.gain != nullptr) {
    const V gain = load_lanes<V>(call.gain + output, count);
    if (residual == nullptr) return V::mul(gain, value);
    return V::fma(gain, value, load_lanes<V>(residual, count));
  }
  if (residual == nullptr) return value;
  return V::add(load_lanes<V>(residual, count), value);
}

template <typename V>
void finish_tile(const LinearCall& call, const TilePlace& place, const float* sums) {
  for (std::int64_t r = 0; r < place.rows; ++r) {
    for (std::int64_t p = 0; p < place.panels; ++p, sums += V::kLanes) {
      const std::int64_t row = place.row + r;
      const std::int64_t output = (place.panel + p) * V::kLanes;
      const std::int64_t left = call.out_features - output;
      const int count = left < V::kLanes ? static_cast<int>(left) : V::kLanes;
      float* y = call.y + row * call.y_stride + output;
      V value = V::add(place.first ? V::zero() : load_lanes<V>(y, count), V::load(sums));
      if (place.last) value = linear_epilogue<V>(call, row, output, count, value);
      if (count == V::kLanes) {
        V::store(y, value);
      } else {
        V::store(y, value, count);
      }
    }
  }
}

}  // namespace verbatim
