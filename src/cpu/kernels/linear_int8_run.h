// Projections over int8 activations. The integer sum of a group is exact in any order; the groups
// of an output follow each other as total = fma(float(sum), scale, total) from zero, and the total
// times the row's scale goes on to bias, activation, gain and residual. So rows, panels, blocks and
// instruction sets change speed and never a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/kernels/linear_int8_block.h"
#include "cpu/kernels/linear_int8_stream.h"
#include "cpu/kernels/linear_w4a8.h"
#include "cpu/kernels/linear_w8a8.h"

namespace verbatim {

// The codes of a turn as bytes, a panel after the other.
template <typename V, typename D, typename Codes, int kPanels>
void unpack_turn(const Int8Block<V, kPanels>& block, Int8Tile& tile) {
  constexpr std::size_t kPanelBytes = std::size_t{int8_block_inputs(kPanels)} / 4 * kLineBytes;
  for (int p = 0; p < kPanels; ++p) {
    std::byte* to = block.lines + static_cast<std::size_t>(p) * kPanelBytes;
    const std::byte* panel = tile.codes + static_cast<std::size_t>(p) * tile.codes_panel;
    for (std::int32_t g = 0; g < tile.groups; ++g, panel += tile.codes_group) {
      const std::byte* from = panel;
      for (std::int32_t i = 0; i < tile.lines; ++i, from += kLineBytes) {
        unroll<Codes::kParts>([&](auto part) {
          D::store(to, Codes::template line<decltype(part)::value>(from));
          to += kLineBytes;
        });
      }
    }
  }
  tile.codes = block.lines;
  tile.codes_panel = kPanelBytes;
  tile.lines *= Codes::kParts;
  tile.codes_group = static_cast<std::size_t>(tile.lines) * kLineBytes;
}

template <typename V, typename D, int kPanels>
struct Int8Tiles {
  // The lowest tile that more than kStreamRows rows are cut into.
  static constexpr int kLeast = D::kTileRows < kStreamRows ? 1 : (D::kTileRows + 1) / 2;
  using Run = void (*)(const Int8Tile&);
  template <int... kRow>
  static Run pick(std::int64_t rows, std::integer_sequence<int, kRow...>) {
    static constexpr Run kRuns[]{&int8_tile<V, D, W8Codes<D>, kLeast + kRow, kPanels, false>...};
    return kRuns[rows - kLeast];
  }
  static Run of(std::int64_t rows) {
    return pick(rows, std::make_integer_sequence<int, D::kTileRows - kLeast + 1>{});
  }
};

// What a tile at the end of its rows will write.
template <typename V, int kPanels>
void fetch_outputs(const Int8Block<V, kPanels>& block, std::int64_t row, std::int64_t end) {
  const LinearCall& call = *block.call;
  const float* y = call.y + (block.row + row) * call.y_stride + block.panel * V::kLanes;
  for (std::int64_t r = row; r < end; ++r, y += call.y_stride) {
    for (int p = 0; p < kPanels; ++p) __builtin_prefetch(y + p * V::kLanes, 1, 3);
  }
}

// All row tiles of a block over one turn; `next` is what will be read after it.
template <typename V, typename D, int kPanels>
void run_int8_tiles(const Int8Block<V, kPanels>& block, const Int8Turn& turn, Int8Tile tile,
                    const std::byte* next, std::size_t next_bytes) {
  const std::int64_t tiles = (block.rows + D::kTileRows - 1) / D::kTileRows;
  constexpr std::int32_t kEvery = int8_fetch_lines(kPanels);
  const std::int32_t fetches = tile.groups * ((tile.lines + kEvery - 1) / kEvery);
  const std::size_t steps = static_cast<std::size_t>(tiles) * static_cast<std::size_t>(fetches);
  std::size_t step = (next_bytes + steps - 1) / steps;
  if (kEvery > 1) step = (step + kLineBytes - 1) / kLineBytes * kLineBytes;
  const std::int8_t* q = tile.q;
  const std::int32_t* sums = tile.sums;
  const bool last = turn.end() >= block.layout.in;
  const std::int32_t* factors = tile.factors;
  std::int64_t row = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t end = block.rows * (t + 1) / tiles;  // tiles of even height
    const std::size_t skipped =
        static_cast<std::size_t>(t) * static_cast<std::size_t>(fetches) * step;
    const bool useful = skipped < next_bytes;
    tile.ahead = {next + (useful ? skipped : 0), block.layout.panel_bytes(), useful ? step : 0};
    tile.q = q + row * tile.row_bytes;
    const std::int64_t ints = row * (tile.row_bytes / std::int64_t{sizeof(std::int32_t)});
    tile.sums = sums + ints;
    tile.factors = factors + ints;
    tile.totals = block.totals + row * kPanels * V::kLanes;
    tile.partials = block.partials + row * kPanels * V::kLanes;
    if (last) fetch_outputs(block, row, end);
    Int8Tiles<V, D, kPanels>::of(end - row)(tile);
    if (last) finish_int8(block, row, end - row);
    row = end;
  }
}

template <typename V, typename D, typename Codes, int kPanels>
void run_int8_block(const Int8Block<V, kPanels>& block) {
  const Int8Layout& layout = block.layout;
  const std::byte* packed = block.packed(block.panel);
  clear_totals(block);
  for (std::int32_t first = 0; first < layout.in;) {
    const Int8Turn turn = int8_turn<V>(layout, first, int8_block_inputs(kPanels));
    Int8Tile tile = int8_tile_of(block, turn, Codes::kOffset);
    const std::size_t turn_bytes = static_cast<std::size_t>(turn.groups) *
                                   (layout.code_bytes(turn.inputs) + layout.tail_bytes);
    const bool last = turn.end() >= layout.in;
    const std::byte* next =
        last ? block.packed(block.next_panel)
             : packed + static_cast<std::size_t>(turn.end() / layout.group) * layout.group_bytes() +
                   layout.code_bytes(turn.end() % layout.group);
    if constexpr (Codes::kParts > 1) unpack_turn<V, D, Codes, kPanels>(block, tile);
    run_int8_tiles<V, D, kPanels>(block, turn, tile, next, turn_bytes);
    first = turn.end();
  }
}

template <typename V, typename D, typename Codes, int kPanels>
void run_int8_panels(const LinearCall& call, const Int8Layout& layout, std::int64_t row,
                     std::int64_t rows, std::int64_t panel, std::int64_t next_panel) {
  constexpr std::int64_t kSums = kInt8BlockRows * D::kTilePanels * V::kLanes;
  static_assert(2 * kSums * 4 + D::kTilePanels * V::kLanes * int8_block_inputs(D::kTilePanels) <=
                kLinearScratchBytes);
  auto* totals = static_cast<float*>(static_cast<void*>(call.scratch));
  auto* partials = static_cast<std::int32_t*>(static_cast<void*>(totals + kSums));
  auto* lines = static_cast<std::byte*>(static_cast<void*>(partials + kSums));
  run_int8_block<V, D, Codes, kPanels>(
      {&call, layout, row, rows, panel, next_panel, totals, partials, lines});
}

template <typename V, typename D, typename Codes>
void run_int8_blocks(const LinearCall& call, const Int8Layout& layout) {
  const std::int64_t blocks = (call.rows + kInt8BlockRows - 1) / kInt8BlockRows;
  const std::int64_t panels_end = call.panel + call.panels;
  std::int64_t row = 0;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t end = call.rows * (b + 1) / blocks;  // blocks of even height
    std::int64_t panel = call.panel;
    for (; panel + D::kTilePanels <= panels_end; panel += D::kTilePanels) {
      const std::int64_t after = panel + D::kTilePanels;
      run_int8_panels<V, D, Codes, D::kTilePanels>(call, layout, row, end - row, panel,
                                                   after < panels_end ? after : call.panel);
    }
    if constexpr (D::kTilePanels > 1) {
      for (; panel < panels_end; ++panel) {
        run_int8_panels<V, D, Codes, 1>(call, layout, row, end - row, panel, panel);
      }
    }
    row = end;
  }
}

template <typename V, typename D, typename Codes>
void run_int8(const LinearCall& call) {
  static_assert(kStreamRows == 4);
  const std::int32_t group = call.group < call.in_features ? call.group : call.in_features;
  const bool has_tail = call.has_zeros || call.has_code_sums;
  const Int8Layout layout{call.in_features, group, 4 * Codes::kParts,
                          has_tail ? std::size_t{128} : std::size_t{64}};
  switch (call.rows) {
    case 1:
      return stream_int8<V, D, Codes, 1>(call, layout);
    case 2:
      return stream_int8<V, D, Codes, 2>(call, layout);
    case 3:
      return stream_int8<V, D, Codes, 3>(call, layout);
    case 4:
      return stream_int8<V, D, Codes, 4>(call, layout);
    default:
      return run_int8_blocks<V, D, Codes>(call, layout);
  }
}

}  // namespace verbatim
