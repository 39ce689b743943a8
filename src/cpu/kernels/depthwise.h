// Depthwise convolution: y[t, c] = residual[t, c] + gain[c] * (sum_j x[t + j, c] w[c, j] +
// bias[c]). Lanes are channels; w lies in panels of sixteen channels, [panel][j][16], zero beyond
// the last channel. Per element one chain of fused multiply-adds along j from zero, in kRows
// registers.
#pragma once

#include <cstdint>

#include "cpu/kernel_table.h"
#include "cpu/kernels/unroll.h"

namespace verbatim {

template <typename V>
struct Depthwise {
  static constexpr int kRows = 8;  // sums in flight; enough to hide the latency of one

  static void run(const DepthwiseCall& call) {
    for (std::int32_t channel = 0; channel < call.channels; channel += V::kLanes) {
      const int n = call.channels - channel < V::kLanes ? call.channels - channel : V::kLanes;
      if (n == V::kLanes) {
        panel<true>(call, channel, n);
      } else {
        panel<false>(call, channel, n);
      }
    }
  }

 private:
  template <bool kWhole>  // all sixteen channels are there
  static void panel(const DepthwiseCall& call, std::int32_t channel, int n) {
    std::int64_t row = 0;
    for (; row + kRows <= call.rows; row += kRows) tile<kRows, kWhole>(call, channel, n, row);
    for (; row < call.rows; ++row) tile<1, kWhole>(call, channel, n, row);
  }

  template <int kCount, bool kWhole>
  static void tile(const DepthwiseCall& call, std::int32_t channel, int n, std::int64_t row) {
    const auto* w = static_cast<const float*>(static_cast<const void*>(call.packed)) +
                    std::int64_t{channel} * call.kernel;
    const float* x = call.x + row * call.x_stride + channel;
    V sum[kCount];
    unroll<kCount>([&](auto r) { sum[decltype(r)::value] = V::zero(); });
    for (std::int32_t j = 0; j < call.kernel; ++j) {
      const V weight = V::load(w + std::int64_t{j} * V::kLanes);
      unroll<kCount>([&](auto r) {
        constexpr int kRow = decltype(r)::value;
        const float* at = x + (j + kRow) * call.x_stride;
        sum[kRow] = V::fma(kWhole ? V::load(at) : V::load(at, n), weight, sum[kRow]);
      });
    }
    unroll<kCount>([&](auto r) {
      constexpr int kRow = decltype(r)::value;
      finish(call, channel, n, row + kRow, sum[kRow]);
    });
  }

  static void finish(const DepthwiseCall& call, std::int32_t channel, int n, std::int64_t row,
                     V y) {
    if (call.bias != nullptr) y = V::add(y, V::load(call.bias + channel, n));
    const V gain = call.gain != nullptr ? V::load(call.gain + channel, n) : V::zero();
    if (call.residual != nullptr) {
      const V residual = V::load(call.residual + row * call.residual_stride + channel, n);
      y = call.gain != nullptr ? V::fma(gain, y, residual) : V::add(y, residual);
    } else if (call.gain != nullptr) {
      y = V::mul(gain, y);
    }
    V::store(call.y + row * call.y_stride + channel, y, n);
  }
};

}  // namespace verbatim
