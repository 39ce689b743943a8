// A projection of a few rows: the packed panels stream by once, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_finish.h"
#include "cpu/kernels/linear_tile.h"

namespace verbatim {

template <typename Panels>
std::size_t linear_panel_bytes(std::int32_t in) {
  const int inputs = Panels::kLineInputs;
  return static_cast<std::size_t>((in + inputs - 1) / inputs) * kLineBytes;
}

template <typename V, typename Panels, int kRows, int kPanels>
void stream_panels(const LinearCall& call, std::int64_t panel) {
  alignas(kLineBytes) float sums[kRows * kPanels * V::kLanes];
  const std::size_t panel_bytes = linear_panel_bytes<Panels>(call.in_features);
  const std::byte* packed = call.packed + static_cast<std::size_t>(panel) * panel_bytes;
  for (int first = 0; first < call.in_features; first += kLinearSegment) {
    const int left = call.in_features - first;
    const int count = left < kLinearSegment ? left : kLinearSegment;
    stream_sums<V, Panels, kRows, kPanels>(call.x + first, call.x_stride, packed, panel_bytes,
                                           count, sums);
    packed += kLinearSegment / Panels::kLineInputs * kLineBytes;
    finish_tile<V>(call, {0, kRows, panel, kPanels, first == 0, count == left}, sums);
  }
}

// Panels in flight. More than four streams at once were slower on the one kind of machine that was
// measured, an x86-64 with AVX-512.
template <typename V>
constexpr int stream_panels_of(int rows) {
  int panels = kStreamPanels;
  while (panels > 1 && panels * rows > V::kStreamSums) panels /= 2;
  return panels;
}

template <typename V, typename Panels, int kRows>
void stream_rows(const LinearCall& call) {
  constexpr int kPanels = stream_panels_of<V>(kRows);
  std::int64_t panel = call.panel;
  const std::int64_t end = call.panel + call.panels;
  for (; panel + kPanels <= end; panel += kPanels) {
    stream_panels<V, Panels, kRows, kPanels>(call, panel);
  }
  if constexpr (kPanels > 1) {
    for (; panel < end; ++panel) stream_panels<V, Panels, kRows, 1>(call, panel);
  }
}

}  // namespace verbatim
