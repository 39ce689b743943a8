// What turns over the input features share, few rows or many: where a turn's codes, scales and sums
// stand, and how totals become outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_finish.h"
#include "cpu/kernels/linear_int8_layout.h"
#include "cpu/kernels/linear_int8_tile.h"

namespace verbatim {

// Of a block: its totals and partial sums (scratch) stay in L2, the codes of one turn too, in L1
// where a tile has one panel and passes by them faster than L2 gives them.
constexpr std::int64_t kInt8BlockRows = 384;
constexpr std::int32_t int8_block_inputs(int panels) {
  return panels > 1 ? 4096 : 1024;
}

template <typename V, int kPanels>
struct Int8Block {
  const LinearCall* call;
  Int8Layout layout;
  std::int64_t row;
  std::int64_t rows;
  std::int64_t panel;
  std::int64_t next_panel;  // what will be read after this
  float* totals;
  std::int32_t* partials;
  std::byte* lines;  // codes as bytes, [kPanels][int8_block_inputs(kPanels) / 4] lines

  const std::byte* packed(std::int64_t at) const {
    return call->packed + static_cast<std::size_t>(at) * layout.panel_bytes();
  }
  const std::byte* row_at(std::int64_t at) const {
    return call->rounded + (row + at) * call->rounded_stride;
  }
};

// Input features of one turn: some whole groups, or a part of one.
struct Int8Turn {
  std::int32_t first;
  std::int32_t group;
  std::int32_t groups;
  std::int32_t inputs;  // of each group
  std::int32_t past;    // of the first group, before the turn
  bool ends;

  std::int32_t end() const { return first + groups * inputs; }
};

template <typename V>
Int8Turn int8_turn(const Int8Layout& layout, std::int32_t first, std::int32_t most) {
  Int8Turn turn{};
  turn.first = first;
  turn.group = first / layout.group;
  turn.past = first - turn.group * layout.group;
  const std::int32_t left = layout.in - first;
  if (turn.past == 0 && layout.group <= most && layout.group <= left) {
    const std::int32_t fit = (most < left ? most : left) / layout.group;
    turn.groups = fit;
    turn.inputs = layout.group;
    turn.ends = true;
    return turn;
  }
  const std::int32_t rest = layout.group - turn.past < left ? layout.group - turn.past : left;
  turn.groups = 1;
  turn.inputs = rest < most ? rest : most;
  turn.ends = turn.inputs == rest;
  return turn;
}

// What a tile over all rows of the block would need, but for its codes and what to fetch.
template <typename V, int kPanels>
Int8Tile int8_tile_of(const Int8Block<V, kPanels>& block, const Int8Turn& turn, int offset) {
  const Int8Layout& layout = block.layout;
  const RoundedRow row = rounded_row(layout.in, layout.group);
  const std::byte* rounded = block.row_at(0);
  const std::int32_t left = layout.in - turn.group * layout.group;
  Int8Tile tile{};
  tile.q =
      static_cast<const std::int8_t*>(static_cast<const void*>(rounded + row.codes)) + turn.first;
  tile.sums = static_cast<const std::int32_t*>(static_cast<const void*>(rounded + 64)) + turn.group;
  const bool whole_row = block.call->has_code_sums;  // its zero follows its scale
  tile.factors = whole_row ? static_cast<const std::int32_t*>(static_cast<const void*>(rounded)) + 1
                           : tile.sums;
  tile.factors_step = whole_row ? 0 : 1;
  tile.row_bytes = block.call->rounded_stride;
  tile.codes_panel = layout.panel_bytes();
  tile.codes_group = layout.group_bytes();
  tile.codes = block.packed(block.panel) +
               static_cast<std::size_t>(turn.group) * layout.group_bytes() +
               layout.code_bytes(turn.past);
  tile.scales = block.packed(block.panel) +
                static_cast<std::size_t>(turn.group) * layout.group_bytes() +
                layout.code_bytes(left < layout.group ? left : layout.group);
  tile.scales_panel = layout.panel_bytes();
  tile.scales_group = layout.group_bytes();
  tile.groups = turn.groups;
  tile.lines = (turn.inputs + layout.line_inputs - 1) / layout.line_inputs;
  tile.group_inputs = turn.inputs;
  tile.offset = offset;
  tile.has_zeros = block.call->has_zeros || whole_row;
  tile.begins = turn.past == 0;
  tile.ends = turn.ends;
  tile.totals = block.totals;
  tile.partials = block.partials;
  return tile;
}

template <typename V, int kPanels>
void clear_totals(const Int8Block<V, kPanels>& block) {
  for (std::int64_t i = 0; i < block.rows * kPanels; ++i) {
    V::store(block.totals + i * V::kLanes, V::zero());
  }
}

// The totals of some of the block's rows are whole.
template <typename V, int kPanels>
void finish_int8(const Int8Block<V, kPanels>& block, std::int64_t row, std::int64_t rows) {
  float* totals = block.totals + row * kPanels * V::kLanes;
  float* of_row = totals;
  for (std::int64_t r = row; r < row + rows; ++r) {
    const V scale = V::set(*static_cast<const float*>(static_cast<const void*>(block.row_at(r))));
    for (int p = 0; p < kPanels; ++p, of_row += V::kLanes) {
      V::store(of_row, V::mul(V::load(of_row), scale));
    }
  }
  finish_tile<V>(*block.call, {block.row + row, rows, block.panel, kPanels, true, true}, totals);
}

}  // namespace verbatim
