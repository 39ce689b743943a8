// The inner loops of a projection: sums over one segment of k for a tile of rows and panels, kept
// in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/kernels/unroll.h"

namespace verbatim {

constexpr int kLinearSegment = 256;
constexpr int kLineBytes = 64;

// Bytes that are brought near while a tile computes: `step` of them at every input feature.
struct Ahead {
  const std::byte* from;
  std::size_t panel_bytes;
  std::size_t step;
};

// The sums of one segment for rows of x that stand kLinearSegment floats apart and panels decoded
// to float, [count][16] each and panel_floats apart; sums is [kRows][kPanels][16].
template <typename V, int kRows, int kPanels>
[[gnu::noinline]] void tile_sums(const float* x, const float* columns, std::size_t panel_floats,
                                 int count, const Ahead& ahead, float* sums) {
  V sum[kRows * kPanels];
  unroll<kRows * kPanels>([&](auto i) { sum[decltype(i)::value] = V::zero(); });
  const std::byte* fetch = ahead.from;
  const std::size_t fetch_panel = ahead.panel_bytes;
  const std::size_t fetch_step = ahead.step;
  for (int k = 0; k < count; ++k, columns += V::kLanes, fetch += fetch_step) {
    for (int p = 0; p < kPanels; ++p) __builtin_prefetch(fetch + p * fetch_panel, 0, 2);
    V w[kPanels];
    unroll<kPanels>([&](auto p) {
      constexpr int kPanel = decltype(p)::value;
      w[kPanel] = V::load(columns + kPanel * panel_floats);
    });
    unroll<kRows>([&](auto r) {
      constexpr int kRow = decltype(r)::value;
      const V value = V::set(x[kRow * kLinearSegment + k]);
      unroll<kPanels>([&](auto p) {
        constexpr int kSum = kRow * kPanels + decltype(p)::value;
        sum[kSum] = V::fma(value, w[decltype(p)::value], sum[kSum]);
      });
    });
  }
  unroll<kRows * kPanels>(
      [&](auto i) { V::store(sums + decltype(i)::value * V::kLanes, sum[decltype(i)::value]); });
}

// The same for a few rows straight from the packed panels, which pass once: each panel is a stream
// of its own, fetched ahead of its use.
template <typename V, typename Panels, int kRows, int kPanels>
[[gnu::noinline]] void stream_sums(const float* x, std::int64_t x_stride, const std::byte* panels,
                                   std::size_t panel_bytes, int count, float* sums) {
  constexpr int kStreamAhead = 4096 / kPanels;
  constexpr int kInputs = Panels::kLineInputs;
  V sum[kRows * kPanels];
  unroll<kRows * kPanels>([&](auto i) { sum[decltype(i)::value] = V::zero(); });
  const auto step = [&](auto input, int k) {
    constexpr int kInput = decltype(input)::value;
    V value[kRows];
    unroll<kRows>([&](auto r) {
      value[decltype(r)::value] = V::set(x[decltype(r)::value * x_stride + k + kInput]);
    });
    unroll<kPanels>([&](auto p) {
      constexpr int kPanel = decltype(p)::value;
      const V w = Panels::template column<kInput>(panels + kPanel * panel_bytes);
      unroll<kRows>([&](auto r) {
        constexpr int kSum = decltype(r)::value * kPanels + kPanel;
        sum[kSum] = V::fma(value[decltype(r)::value], w, sum[kSum]);
      });
    });
  };
  int k = 0;
  for (; k + kInputs <= count; k += kInputs, panels += kLineBytes) {
    for (int p = 0; p < kPanels; ++p) {
      __builtin_prefetch(panels + p * panel_bytes + kStreamAhead, 0, 3);
    }
    unroll<kInputs>([&](auto input) { step(input, k); });
  }
  if (k < count) step(std::integral_constant<int, 0>{}, k);
  unroll<kRows * kPanels>(
      [&](auto i) { V::store(sums + decltype(i)::value * V::kLanes, sum[decltype(i)::value]); });
}

// One panel of one segment as floats, [count][16].
template <typename V, typename Panels>
void decode_panel(const std::byte* packed, int count, float* columns) {
  constexpr int kInputs = Panels::kLineInputs;
  int k = 0;
  for (; k + kInputs <= count; k += kInputs, packed += kLineBytes) {
    unroll<kInputs>([&](auto input) {
      constexpr int kInput = decltype(input)::value;
      V::store(columns + (k + kInput) * V::kLanes, Panels::template column<kInput>(packed));
    });
  }
  if (k < count) V::store(columns + k * V::kLanes, Panels::template column<0>(packed));
}

}  // namespace verbatim
