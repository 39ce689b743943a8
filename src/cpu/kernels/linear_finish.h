// What happens to a segment's sums: they are added to y, and after the last segment bias,
// activation, gain and residual follow.
#pragma once

#include <cstdint>

#include "cpu/kernel_table.h"
#include "cpu/kernels/math.h"

namespace verbatim {

// Where a tile's sums [rows][panels][16] belong, and whether its segment is the first or the last.
struct TilePlace {
  std::int64_t row;
  std::int64_t rows;
  std::int64_t panel;
  std::int64_t panels;
  bool first;
  bool last;
};

template <typename V>
V load_lanes(const float* from, int count) {
  return count == V::kLanes ? V::load(from) : V::load(from, count);
}

template <typename V>
void store_lanes(float* to, int count, V value) {
  if (count == V::kLanes) {
    V::store(to, value);
  } else {
    V::store(to, value, count);
  }
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

// One panel of a tile; count: its outputs that exist.
template <typename V>
void finish_panel(const LinearCall& call, const TilePlace& place, std::int64_t panel, int count,
                  const float* sums) {
  const std::int64_t output = panel * V::kLanes;
  const std::int64_t sums_stride = place.panels * V::kLanes;
  const bool plain = call.bias == nullptr && call.activation == KernelActivation::kNone &&
                     call.gain == nullptr && call.residual == nullptr;
  float* y = call.y + place.row * call.y_stride + output;
  for (std::int64_t r = 0; r < place.rows; ++r, y += call.y_stride, sums += sums_stride) {
    V value = V::add(place.first ? V::zero() : load_lanes<V>(y, count), V::load(sums));
    if (place.last && !plain) value = linear_epilogue<V>(call, place.row + r, output, count, value);
    store_lanes(y, count, value);
  }
}

template <typename V>
[[gnu::noinline]] void finish_tile(const LinearCall& call, const TilePlace& place,
                                   const float* sums) {
  for (std::int64_t p = 0; p < place.panels; ++p) {
    const std::int64_t left = call.out_features - (place.panel + p) * V::kLanes;
    const int count = left < V::kLanes ? static_cast<int>(left) : V::kLanes;
    finish_panel<V>(call, place, place.panel + p, count, sums + p * V::kLanes);
  }
}

}  // namespace verbatim
