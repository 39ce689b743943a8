// Projections: y[r, o] = sum over k of x[r, k] w[o, k], then bias, activation, gain and residual.
// Lanes are outputs. A segment of at most 256 input features is one chain of fused multiply-adds
// from zero, k ascending; segment sums are added in order, in y. Nothing in that order mentions
// rows, panels or threads: how many of them are in flight changes speed and never a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/kernels/linear_stream.h"

namespace verbatim {

// Many rows go in blocks, so that what is used again is near: a segment of the rows (scratch) and
// the block of y in L2, the panels of a tile as floats (scratch, or as packed) in L1.
constexpr std::int64_t kBlockPanels = 32;
constexpr std::int64_t kBlockTiles = 8;

template <typename V>
struct LinearBlock {
  const LinearCall* call;
  std::int64_t row;
  std::int64_t rows;
  std::int64_t panel;
  std::int64_t panels;
  int first;  // input feature of the segment
  int count;
  std::size_t panel_bytes;
  int input_bytes;      // of one panel
  const float* next_x;  // what the next block will pack, as far as it is known; null at the end
  float* x;             // [rows][kLinearSegment]
  float* columns;       // [V::kTilePanels][kLinearSegment][16]

  bool last() const { return first + count == call->in_features; }
};

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

template <typename V>
void pack_rows(const LinearBlock<V>& block) {
  const LinearCall& call = *block.call;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const float* from = call.x + (block.row + r) * call.x_stride + block.first;
    float* to = block.x + r * kLinearSegment;
    int k = 0;
    for (; k + V::kLanes <= block.count; k += V::kLanes) V::store(to + k, V::load(from + k));
    if (k < block.count) V::store(to + k, V::load(from + k, block.count - k));
  }
}

// All row tiles of a block against kPanels panels; `next` is where the panels after them begin.
template <typename V, int kPanels>
void run_tiles(const LinearBlock<V>& block, std::int64_t panel, const float* columns,
               std::size_t panel_floats, const std::byte* next) {
  alignas(kLineBytes) float sums[V::kTileRows * kPanels * V::kLanes];
  const LinearCall& call = *block.call;
  const std::int64_t tiles = (block.rows + V::kTileRows - 1) / V::kTileRows;
  const std::int64_t share = (block.input_bytes + tiles - 1) / tiles;
  const std::int64_t next_bytes = std::int64_t{block.input_bytes} * block.count;
  std::int64_t row = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t end = block.rows * (t + 1) / tiles;  // tiles of even height
    const int rows = static_cast<int>(end - row);
    const std::int64_t skipped = t * share * block.count;
    const bool useful = skipped < next_bytes;
    const Ahead ahead{next + (useful ? skipped : 0), block.panel_bytes,
                      useful ? static_cast<std::size_t>(share) : 0};
    if (block.next_x != nullptr) {
      const std::int64_t line = (panel - block.panel) / V::kTilePanels;
      for (std::int64_t r = row; r < end; ++r) {
        __builtin_prefetch(block.next_x + r * call.x_stride + line * V::kLanes, 0, 2);
      }
    }
    const float* x = block.x + row * kLinearSegment;
    Tiles<V, kPanels>::of(rows)(x, columns, panel_floats, block.count, ahead, sums);
    finish_tile<V>(call, {block.row + row, rows, panel, kPanels, block.first == 0, block.last()},
                   sums);
    row = end;
  }
}

template <typename V, typename Panels, int kPanels>
void run_panels(const LinearBlock<V>& block, std::int64_t panel, const std::byte* next) {
  constexpr std::size_t kInputBytes = kLineBytes / Panels::kLineInputs;
  const std::byte* packed = block.call->packed +
                            static_cast<std::size_t>(panel) * block.panel_bytes +
                            static_cast<std::size_t>(block.first) * kInputBytes;
  if constexpr (Panels::kDirect) {
    const auto* columns = static_cast<const float*>(static_cast<const void*>(packed));
    run_tiles<V, kPanels>(block, panel, columns, block.panel_bytes / sizeof(float), next);
  } else {
    constexpr int kPanelFloats = kLinearSegment * V::kLanes;
    for (int p = 0; p < kPanels; ++p) {
      decode_panel<V, Panels>(packed + static_cast<std::size_t>(p) * block.panel_bytes, block.count,
                              block.columns + p * kPanelFloats);
    }
    run_tiles<V, kPanels>(block, panel, block.columns, kPanelFloats, next);
  }
}

template <typename V, typename Panels>
void run_block(const LinearBlock<V>& block) {
  constexpr std::size_t kInputBytes = kLineBytes / Panels::kLineInputs;
  pack_rows(block);
  const std::byte* packed =
      block.call->packed + static_cast<std::size_t>(block.first) * kInputBytes;
  const std::int64_t end = block.panel + block.panels;
  std::int64_t panel = block.panel;
  for (; panel + V::kTilePanels <= end; panel += V::kTilePanels) {
    // After the block's last panels come its first ones, one segment on.
    const std::int64_t after = panel + V::kTilePanels;
    const std::byte* next =
        after < end ? packed + static_cast<std::size_t>(after) * block.panel_bytes
                    : packed + static_cast<std::size_t>(block.panel) * block.panel_bytes +
                          kLinearSegment * kInputBytes;
    run_panels<V, Panels, V::kTilePanels>(block, panel, next);
  }
  if constexpr (V::kTilePanels > 1) {
    for (; panel < end; ++panel) run_panels<V, Panels, 1>(block, panel, packed);
  }
}

template <typename V, typename Panels>
void run_blocks(const LinearCall& call) {
  constexpr std::int64_t kBlockRows = kBlockTiles * V::kTileRows;
  static_assert((kBlockRows + V::kTilePanels * V::kLanes) * kLinearSegment * sizeof(float) <=
                kLinearScratchBytes);
  LinearBlock<V> block{};
  block.call = &call;
  block.panel_bytes = linear_panel_bytes<Panels>(call.in_features);
  block.input_bytes = kLineBytes / Panels::kLineInputs;
  block.x = static_cast<float*>(static_cast<void*>(call.scratch));
  block.columns = block.x + kBlockRows * kLinearSegment;
  const std::int64_t panels_end = call.panel + call.panels;
  const std::int64_t row_blocks = (call.rows + kBlockRows - 1) / kBlockRows;
  for (block.panel = call.panel; block.panel < panels_end; block.panel += kBlockPanels) {
    const std::int64_t left = panels_end - block.panel;
    block.panels = left < kBlockPanels ? left : kBlockPanels;
    block.row = 0;
    for (std::int64_t b = 0; b < row_blocks; ++b) {
      const std::int64_t end = call.rows * (b + 1) / row_blocks;  // blocks of even height
      block.rows = end - block.row;
      for (block.first = 0; block.first < call.in_features; block.first += kLinearSegment) {
        const int rest = call.in_features - block.first;
        block.count = rest < kLinearSegment ? rest : kLinearSegment;
        const std::int64_t next_row = block.last() ? end : block.row;
        const int next_first = block.last() ? 0 : block.first + kLinearSegment;
        block.next_x = next_row + block.rows <= call.rows
                           ? call.x + next_row * call.x_stride + next_first
                           : nullptr;
        run_block<V, Panels>(block);
      }
      block.row = end;
    }
  }
}

template <typename V, typename Panels>
void run_linear(const LinearCall& call) {
  static_assert(kStreamRows == 4);
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
      return run_blocks<V, Panels>(call);
  }
}

}  // namespace verbatim
