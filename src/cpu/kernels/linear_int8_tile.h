// The inner loop of a projection over int8 activations: integer sums of a tile of rows and panels,
// kept in registers for the length of a group, or of a part of one, and then added to totals.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_tile.h"
#include "cpu/kernels/unroll.h"

namespace verbatim {

struct Int8Tile {
  const std::int8_t* q;      // the first row's codes at the tile's first input feature
  const std::int32_t* sums;  // the first row's sums from the tile's first group on
  std::int64_t row_bytes;    // from one rounded row to the next, for all of its parts
  const std::byte* codes;    // the first panel's, at the tile's first input feature
  std::size_t codes_panel;   // bytes from one panel to the next, and from one group to the next
  std::size_t codes_group;
  // What the weight's zeros, or the sums of its codes, are multiplied by before they are taken off:
  // as `sums`, or the same for every group.
  const std::int32_t* factors;
  std::int32_t factors_step;  // from one group to the next
  const std::byte* scales;    // the first panel's, of the first group; its zeros are one line on
  std::size_t scales_panel;
  std::size_t scales_group;
  std::int32_t groups;
  std::int32_t lines;         // of codes in a group, or in the part of it
  std::int32_t group_inputs;  // whole groups only
  std::int32_t offset;        // of the codes
  bool has_zeros;
  bool begins;             // a group begins here; else its sums so far stand in partials
  bool ends;               // a group ends here; else its sums go to partials
  bool first;              // nothing is in totals yet
  float* totals;           // [rows][panels][16]
  std::int32_t* partials;  // as totals
  Ahead ahead;             // at every line of codes
  std::size_t ahead_group;
};

// The sums of a group are done: total = fma(float(n), scale, total).
template <typename V, typename D, int kRows, int kPanels>
[[gnu::always_inline]] inline void end_group(const Int8Tile& tile, std::int32_t group,
                                             const typename D::Sum* sum) {
  const std::byte* scales = tile.scales + static_cast<std::size_t>(group) * tile.scales_group;
  const std::int64_t sums_stride = tile.row_bytes / static_cast<std::int64_t>(sizeof(std::int32_t));
  const bool first = tile.first && group == 0;
  const std::int32_t factors_at = group * tile.factors_step;
  unroll<kPanels>([&](auto p) {
    constexpr int kPanel = decltype(p)::value;
    const std::byte* line = scales + kPanel * tile.scales_panel;
    const V scale = V::load(static_cast<const float*>(static_cast<const void*>(line)));
    const auto* zeros = static_cast<const std::int32_t*>(static_cast<const void*>(line + 64));
    unroll<kRows>([&](auto r) {
      constexpr int kSum = decltype(r)::value * kPanels + kPanel;
      typename D::Ints n = D::total(sum[kSum]);
      if (tile.has_zeros) {
        n = D::minus(n, zeros, tile.factors[decltype(r)::value * sums_stride + factors_at]);
      }
      float* total = tile.totals + kSum * V::kLanes;
      V::store(total, V::fma(D::floats(n), scale, first ? V::zero() : V::load(total)));
    });
  });
}

// Streams fetch what lies ahead of them to where it is used, blocks what comes after them to L2.
template <typename V, typename D, typename Codes, int kRows, int kPanels, bool kStream>
[[gnu::noinline]] void int8_tile(const Int8Tile& tile) {
  constexpr int kLocality = kStream ? 3 : 2;
  const std::int64_t row_bytes = tile.row_bytes;
  const std::size_t codes_panel = tile.codes_panel;
  const std::size_t fetch_panel = tile.ahead.panel_bytes;
  const std::size_t fetch_step = tile.ahead.step;
  for (std::int32_t g = 0; g < tile.groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    typename D::Sum sum[kRows * kPanels];
    if (tile.begins) {
      unroll<kRows>([&](auto r) {
        constexpr int kRow = decltype(r)::value;
        const std::int32_t* sums =
            tile.sums + kRow * (row_bytes / static_cast<std::int64_t>(sizeof(std::int32_t)));
        const typename D::Sum from = D::start(-tile.offset * sums[g]);
        unroll<kPanels>([&](auto p) { sum[kRow * kPanels + decltype(p)::value] = from; });
      });
    } else {
      unroll<kRows * kPanels>([&](auto i) {
        constexpr int kSum = decltype(i)::value;
        sum[kSum] = D::start(tile.partials + kSum * V::kLanes);
      });
    }
    const std::int8_t* q = tile.q + std::int64_t{g} * tile.group_inputs;
    const std::byte* codes = tile.codes + at * tile.codes_group;
    const std::byte* fetch = tile.ahead.from + at * tile.ahead_group;
    if constexpr (kStream) {
      for (int p = 0; p < kPanels; ++p) {
        __builtin_prefetch(tile.scales + p * tile.scales_panel + (at + 1) * tile.scales_group);
      }
    }
    for (std::int32_t i = 0; i < tile.lines; ++i) {
      for (int p = 0; p < kPanels; ++p) __builtin_prefetch(fetch + p * fetch_panel, 0, kLocality);
      fetch += fetch_step;
      unroll<Codes::kParts>([&](auto part) {
        constexpr int kPart = decltype(part)::value;
        typename D::Line line[kPanels];
        unroll<kPanels>([&](auto p) {
          constexpr int kPanel = decltype(p)::value;
          line[kPanel] = Codes::template line<kPart>(codes + kPanel * codes_panel);
        });
        unroll<kRows>([&](auto r) {
          constexpr int kRow = decltype(r)::value;
          const typename D::Input in = D::input(q + kRow * row_bytes + kPart * 4);
          unroll<kPanels>([&](auto p) {
            constexpr int kPanel = decltype(p)::value;
            D::add(sum[kRow * kPanels + kPanel], line[kPanel], in);
          });
        });
      });
      q += Codes::kParts * 4;
      codes += kLineBytes;
    }
    if (tile.ends) {
      end_group<V, D, kRows, kPanels>(tile, g, sum);
    } else {
      unroll<kRows * kPanels>([&](auto i) {
        constexpr int kSum = decltype(i)::value;
        D::store(tile.partials + kSum * V::kLanes, D::total(sum[kSum]));
      });
    }
  }
}

}  // namespace verbatim
