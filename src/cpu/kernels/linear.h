// The two ways through a projection: a few rows stream the packed panels, many rows decode a block
// of eight panels once per segment and run register tiles over it. Both give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/kernels/linear_finish.h"
#include "cpu/kernels/linear_tile.h"

namespace verbatim {

constexpr int kBlockPanels = 8;

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

// Panels in flight: a power of two, so that even cuts of the outputs leave no rest.
template <typename V>
constexpr int stream_panels_of(int rows) {
  int panels = kBlockPanels;
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

// Eight panels of one segment as the tiles read them.
struct PanelBlock {
  const float* columns;
  std::size_t panel_floats;
  std::int64_t panel;
  std::int64_t panels;
  int first;
  int count;
  bool last;               // segment
  const std::byte* ahead;  // the block that follows
  std::size_t panel_bytes;
  int input_bytes;
};

template <typename V, typename Panels>
void decode_panel(const std::byte* packed, int count, float* columns) {
  constexpr int kInputs = Panels::kLineInputs;
  int k = 0;
  for (; k + kInputs <= count; k += kInputs, packed += kLineBytes) {
    unroll<kInputs>([&](auto input) {
      V::store(columns + (k + decltype(input)::value) * V::kLanes,
               Panels::template column<decltype(input)::value>(packed));
    });
  }
  if (k < count) V::store(columns + k * V::kLanes, Panels::template column<0>(packed));
}

template <typename V, int kPanels>
struct Tiles {
  using Sums = void (*)(const float*, const float*, std::size_t, int, const Ahead&, float*);
  template <int... kRow>
  static Sums pick(int rows, std::integer_sequence<int, kRow...>) {
    static constexpr Sums kSums[]{&tile_sums<V, kRow + 1, kPanels>...};
    return kSums[rows - 1];
  }
  static Sums of(int rows) { return pick(rows, std::make_integer_sequence<int, V::kTileRows>{}); }
};

// Rows [row, row + rows) of a block; share of shares is this tile's part of what is fetched ahead.
template <typename V>
void run_row_tile(const LinearCall& call, const PanelBlock& block, std::int64_t row, int rows,
                  std::int64_t share, std::int64_t shares, float* x) {
  for (int r = 0; r < rows; ++r) {
    const float* from = call.x + (row + r) * call.x_stride + block.first;
    int k = 0;
    for (; k + V::kLanes <= block.count; k += V::kLanes) {
      V::store(x + r * kLinearSegment + k, V::load(from + k));
    }
    if (k < block.count) {
      V::store(x + r * kLinearSegment + k, V::load(from + k, block.count - k));
    }
  }
  alignas(kLineBytes) float sums[V::kTileRows * V::kTilePanels * V::kLanes];
  const std::int64_t step = (block.input_bytes + shares - 1) / shares;
  const std::int64_t skipped = share * step * kLinearSegment;
  const bool useful = block.ahead != nullptr && skipped < block.input_bytes * kLinearSegment;
  const auto tile_rows = static_cast<std::int64_t>(rows);
  for (std::int64_t p = 0; p < block.panels; p += V::kTilePanels) {
    const Ahead ahead =
        useful ? Ahead{block.ahead + static_cast<std::size_t>(p) * block.panel_bytes + skipped,
                       block.panel_bytes, static_cast<std::size_t>(step)}
               : Ahead{static_cast<const std::byte*>(static_cast<const void*>(x)), 0, 0};
    const float* columns = block.columns + static_cast<std::size_t>(p) * block.panel_floats;
    const bool whole = p + V::kTilePanels <= block.panels;
    const auto tile = whole ? Tiles<V, V::kTilePanels>::of(rows) : Tiles<V, 1>::of(rows);
    tile(x, columns, block.panel_floats, block.count, ahead, sums);
    finish_tile<V>(
        call,
        {row, tile_rows, block.panel + p, whole ? V::kTilePanels : 1, block.first == 0, block.last},
        sums);
  }
}

template <typename V>
void run_block(const LinearCall& call, const PanelBlock& block, float* x) {
  const std::int64_t tiles = (call.rows + V::kTileRows - 1) / V::kTileRows;
  std::int64_t row = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t end = call.rows * (t + 1) / tiles;  // tiles of even height
    run_row_tile<V>(call, block, row, static_cast<int>(end - row), t, tiles, x);
    row = end;
  }
}

template <typename V, typename Panels>
void tile_rows(const LinearCall& call) {
  constexpr std::size_t kSegmentBytes = kLinearSegment / Panels::kLineInputs * kLineBytes;
  auto* x = static_cast<float*>(static_cast<void*>(call.scratch));
  float* decoded = x + V::kTileRows * kLinearSegment;
  const std::size_t panel_bytes = linear_panel_bytes<Panels>(call.in_features);
  const std::int64_t end = call.panel + call.panels;
  for (std::int64_t panel = call.panel; panel < end; panel += kBlockPanels) {
    PanelBlock block{};
    block.panel = panel;
    block.panels = end - panel < kBlockPanels ? end - panel : kBlockPanels;
    block.panel_bytes = panel_bytes;
    block.input_bytes = kLineBytes / Panels::kLineInputs;
    const std::byte* packed = call.packed + static_cast<std::size_t>(panel) * panel_bytes;
    for (int first = 0; first < call.in_features; first += kLinearSegment) {
      const int left = call.in_features - first;
      block.first = first;
      block.last = left <= kLinearSegment;
      block.count = block.last ? left : kLinearSegment;
      const std::byte* now =
          packed + kSegmentBytes * static_cast<std::size_t>(first / kLinearSegment);
      if (!block.last) {
        block.ahead = now + kSegmentBytes;
      } else {
        block.ahead =
            panel + 2 * kBlockPanels <= end ? packed + kBlockPanels * panel_bytes : nullptr;
      }
      if constexpr (Panels::kDirect) {
        block.columns = static_cast<const float*>(static_cast<const void*>(now));
        block.panel_floats = panel_bytes / sizeof(float);
      } else {
        constexpr int kPanelFloats = kLinearSegment * V::kLanes;
        for (std::int64_t p = 0; p < block.panels; ++p) {
          decode_panel<V, Panels>(now + static_cast<std::size_t>(p) * panel_bytes, block.count,
                                  decoded + p * kPanelFloats);
        }
        block.columns = decoded;
        block.panel_floats = kPanelFloats;
      }
      run_block<V>(call, block, x);
    }
  }
}

template <typename V, typename Panels>
void run_linear(const LinearCall& call) {
  switch (call.rows) {
    case 1:
      return stream_rows<V, Panels, 1>(call);
    case 2:
      return stream_rows<V, Panels, 2>(call);
    case 3:
      return stream_rows<V, Panels, 3>(call);
    case 4:
      return stream_rows<V, Panels, 4>(call);
    default:
      return tile_rows<V, Panels>(call);
  }
}

}  // namespace verbatim
