// Projections by weights of codes and scales with float activations: nf4, int4 and int8. Lanes are
// outputs. For one output and one segment of k, the codes as floats:
//   sum = one chain of fused multiply-adds x * code from zero, k ascending
//   sum = fma(-zero, sum of x, sum), where there are zeros
//   total = fma(sum, scale, total), total from zero, segments ascending
// The sum of x over a segment is sixteen running sums, place k of the segment in sum k mod 16,
// joined by the fixed tree of the lanes. As with dense weights, nothing in that order mentions
// rows, panels or threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear.h"
#include "cpu/kernels/linear_coded_stream.h"

namespace verbatim {

template <typename V>
struct CodedBlock {
  const LinearCall* call;
  CodedView view;
  CodedChunk chunk;
  std::int64_t row;
  std::int64_t rows;
  std::int64_t panel;
  std::int64_t panels;
  float* x;        // [rows][kLinearSegment]
  float* columns;  // [V::kTilePanels][kLinearSegment][16]
  float* x_sums;   // [rows][kChunkSegments]

  bool last() const { return chunk.first + chunk.count == call->in_features; }
};

template <typename V>
void pack_coded_rows(const CodedBlock<V>& block) {
  const CodedChunk& chunk = block.chunk;
  const LinearCall& call = *block.call;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    float* to = block.x + r * kLinearSegment;
    take_inputs<V>(call.x + (block.row + r) * call.x_stride, block.view.order, chunk.first,
                   chunk.count, to);
    if (block.view.zeros) {
      for (int s = 0; s < chunk.segments; ++s) {
        block.x_sums[r * kChunkSegments + s] =
            sum_of_inputs<V>(to + chunk.starts[s], chunk.starts[s + 1] - chunk.starts[s]);
      }
    }
  }
}

// One segment of a tile: sums [rows][panels][16] meet their scales, in y.
template <typename V>
[[gnu::noinline]] void finish_coded_tile(const CodedBlock<V>& block, const TilePlace& place,
                                         const std::byte* head, const float* x_sums,
                                         const float* sums) {
  const LinearCall& call = *block.call;
  for (std::int64_t p = 0; p < place.panels; ++p, head += block.view.panel_bytes) {
    const std::int64_t output = (place.panel + p) * V::kLanes;
    const std::int64_t left = call.out_features - output;
    const int count = left < V::kLanes ? static_cast<int>(left) : V::kLanes;
    const V scale = load_line<V>(head);
    const V zero = block.view.zeros ? load_line<V>(head + kLineBytes) : V::zero();
    float* y = call.y + place.row * call.y_stride + output;
    for (std::int64_t r = 0; r < place.rows; ++r, y += call.y_stride) {
      V sum = V::load(sums + (r * place.panels + p) * V::kLanes);
      if (block.view.zeros) sum = V::fma(zero, V::set(x_sums[r * kChunkSegments]), sum);
      V total = V::fma(sum, scale, place.first ? V::zero() : load_lanes<V>(y, count));
      if (place.last) total = linear_epilogue<V>(call, place.row + r, output, count, total);
      store_lanes(y, count, total);
    }
  }
}

// All row tiles of a block against kPanels decoded panels; `next` is what comes after them.
template <typename V, int kPanels>
void run_coded_tiles(const CodedBlock<V>& block, std::int64_t panel, const std::byte* packed,
                     const std::byte* next) {
  alignas(kLineBytes) float sums[V::kTileRows * kPanels * V::kLanes];
  constexpr std::size_t kPanelFloats = kLinearSegment * V::kLanes;
  const CodedChunk& chunk = block.chunk;
  const std::int64_t tiles = (block.rows + V::kTileRows - 1) / V::kTileRows;
  const std::size_t steps = static_cast<std::size_t>(tiles * chunk.count);
  const std::size_t share = (chunk.end - chunk.heads[0] + steps - 1) / steps;
  std::int64_t row = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t end = block.rows * (t + 1) / tiles;  // tiles of even height
    const int rows = static_cast<int>(end - row);
    const auto tile = Tiles<V, kPanels>::of(rows);
    for (int s = 0; s < chunk.segments; ++s) {
      const int start = chunk.starts[s];
      const std::size_t step = static_cast<std::size_t>(t * chunk.count + start);
      tile(block.x + row * kLinearSegment + start, block.columns + start * V::kLanes, kPanelFloats,
           chunk.starts[s + 1] - start, {next + step * share, block.view.panel_bytes, share}, sums);
      finish_coded_tile<V>(block,
                           {block.row + row, rows, panel, kPanels, chunk.first + start == 0,
                            block.last() && s + 1 == chunk.segments},
                           packed + chunk.heads[s], block.x_sums + row * kChunkSegments + s, sums);
    }
    row = end;
  }
}

template <typename V, typename Codes, int kPanels>
void run_coded_panels(const CodedBlock<V>& block, std::int64_t panel, const std::byte* next) {
  const CodedChunk& chunk = block.chunk;
  const std::byte* packed = block.view.panel(panel);
  for (int p = 0; p < kPanels; ++p) {
    const std::byte* codes =
        packed + static_cast<std::size_t>(p) * block.view.panel_bytes + block.view.head_bytes;
    float* columns = block.columns + p * kLinearSegment * V::kLanes;
    for (int s = 0; s < chunk.segments; ++s) {
      decode_codes<V, Codes>(codes + chunk.heads[s], block.view.book,
                             chunk.starts[s + 1] - chunk.starts[s],
                             columns + chunk.starts[s] * V::kLanes);
    }
  }
  run_coded_tiles<V, kPanels>(block, panel, packed, next);
}

template <typename V, typename Codes>
void run_coded_block(const CodedBlock<V>& block) {
  pack_coded_rows(block);
  const std::int64_t end = block.panel + block.panels;
  std::int64_t panel = block.panel;
  for (; panel + V::kTilePanels <= end; panel += V::kTilePanels) {
    // After the block's last panels come its first ones, one chunk on.
    const std::int64_t after = panel + V::kTilePanels;
    const std::byte* next = after < end ? block.view.panel(after) + block.chunk.heads[0]
                                        : block.view.panel(block.panel) + block.chunk.end;
    run_coded_panels<V, Codes, V::kTilePanels>(block, panel, next);
  }
  if constexpr (V::kTilePanels > 1) {
    for (; panel < end; ++panel) {
      run_coded_panels<V, Codes, 1>(block, panel, block.view.panel(block.panel));
    }
  }
}

template <typename V, typename Codes>
void run_coded_blocks(const LinearCall& call, const CodedView& view) {
  constexpr std::int64_t kBlockRows = kBlockTiles * V::kTileRows;
  static_assert((kBlockRows + V::kTilePanels * V::kLanes) * kLinearSegment * sizeof(float) +
                    kBlockRows * kChunkSegments * sizeof(float) <=
                kLinearScratchBytes);
  CodedBlock<V> block{};
  block.call = &call;
  block.view = view;
  block.x = static_cast<float*>(static_cast<void*>(call.scratch));
  block.columns = block.x + kBlockRows * kLinearSegment;
  block.x_sums = block.columns + V::kTilePanels * V::kLanes * kLinearSegment;
  const std::int64_t panels_end = call.panel + call.panels;
  const std::int64_t row_blocks = (call.rows + kBlockRows - 1) / kBlockRows;
  for (block.panel = call.panel; block.panel < panels_end; block.panel += kBlockPanels) {
    const std::int64_t left = panels_end - block.panel;
    block.panels = left < kBlockPanels ? left : kBlockPanels;
    block.row = 0;
    for (std::int64_t b = 0; b < row_blocks; ++b) {
      const std::int64_t end = call.rows * (b + 1) / row_blocks;  // blocks of even height
      block.rows = end - block.row;
      block.chunk.end = 0;
      for (CodedSegment segment(call.in_features, view.group); segment.exists();) {
        block.chunk = next_chunk<V, Codes>(segment, block.chunk.end, view.head_bytes);
        run_coded_block<V, Codes>(block);
      }
      block.row = end;
    }
  }
}

template <typename V, typename Codes>
void run_coded(const LinearCall& call) {
  const CodedView view = coded_view(call);
  if (call.rows > kStreamRows) return run_coded_blocks<V, Codes>(call, view);
  stream_coded<V, Codes>(call, view);
}

}  // namespace verbatim
