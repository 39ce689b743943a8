// A projection of a few rows over int8 activations: the packed panels stream by once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_int8_block.h"

namespace verbatim {

template <typename V, typename D, typename Codes, int kRows, int kPanels>
void stream_int8_panels(const LinearCall& call, const Int8Layout& layout, std::int64_t panel) {
  constexpr std::size_t kStreamAhead = 4096 / kPanels;
  alignas(kLineBytes) float totals[kRows * kPanels * V::kLanes];
  Int8Block<V, kPanels> block{&call, layout, 0, kRows, panel, panel, totals, nullptr, nullptr};
  clear_totals(block);
  for (std::int32_t first = 0; first < layout.in;) {
    const Int8Turn turn = int8_turn<V>(layout, first, layout.in);
    Int8Tile tile = int8_tile_of(block, turn, Codes::kOffset);
    tile.ahead = {tile.codes + kStreamAhead, layout.panel_bytes(), kLineBytes};
    tile.ahead_group = tile.codes_group;
    int8_tile<V, D, Codes, kRows, kPanels, true>(tile);
    first = turn.end();
  }
  finish_int8(block, 0, kRows);
}

template <typename V, typename D, typename Codes, int kRows>
void stream_int8(const LinearCall& call, const Int8Layout& layout) {
  constexpr int kPanels = D::kStreamSums >= 4 * kRows ? 4 : D::kStreamSums >= 2 * kRows ? 2 : 1;
  std::int64_t panel = call.panel;
  const std::int64_t end = call.panel + call.panels;
  for (; panel + kPanels <= end; panel += kPanels) {
    stream_int8_panels<V, D, Codes, kRows, kPanels>(call, layout, panel);
  }
  if constexpr (kPanels > 1) {
    for (; panel < end; ++panel) stream_int8_panels<V, D, Codes, kRows, 1>(call, layout, panel);
  }
}

}  // namespace verbatim
