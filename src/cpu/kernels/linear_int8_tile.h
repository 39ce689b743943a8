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
  bool begins;              // a group begins here; else its sums so far stand in partials
  bool ends;                // a group ends here; else its sums go to partials
  float* totals;            // [rows][panels][16]
  std::int32_t* partials;   // as totals
  Ahead ahead;              // a block's step is at every int8_fetch_lines() of codes
  std::size_t ahead_group;  // of a stream: from one group to the next
};

// The sums of a group are done: total = fma(float(n), scale, total).
template <typename V, typename D, int kRows, int kPanels>
[[gnu::always_inline]] inline void end_group(const Int8Tile& tile, std::int32_t group,
                                             const typename D::Sum* sum) {
  const std::byte* scales = tile.scales + static_cast<std::size_t>(group) * tile.scales_group;
  typename D::Ints n[kRows * kPanels];
  unroll<kRows * kPanels>(
      [&](auto i) { n[decltype(i)::value] = D::total(sum[decltype(i)::value]); });
  if (tile.has_zeros) {
    const std::int32_t* factors = tile.factors + group * tile.factors_step;
    const std::int64_t stride = tile.row_bytes / static_cast<std::int64_t>(sizeof(std::int32_t));
    unroll<kPanels>([&](auto p) {
      constexpr int kPanel = decltype(p)::value;
      const void* zeros = scales + kPanel * tile.scales_panel + kLineBytes;
      unroll<kRows>([&](auto r) {
        constexpr int kRow = decltype(r)::value;
        typename D::Ints& own = n[kRow * kPanels + kPanel];
        own = D::minus(own, static_cast<const std::int32_t*>(zeros), factors[kRow * stride]);
      });
    });
  }
  float* totals = tile.totals;
  unroll<kPanels>([&](auto p) {
    constexpr int kPanel = decltype(p)::value;
    const void* line = scales + kPanel * tile.scales_panel;
    const V scale = V::load(static_cast<const float*>(line));
    unroll<kRows>([&](auto r) {
      constexpr int kSum = decltype(r)::value * kPanels + kPanel;
      float* total = totals + kSum * V::kLanes;
      V::store(total, V::fma(D::floats(n[kSum]), scale, V::load(total)));
    });
  });
}

// The products of one packed line of codes of each panel with a few rows.
template <typename D, typename Codes, int kRows, int kPanels>
[[gnu::always_inline]] inline void add_line(typename D::Sum* sum, const std::byte* codes,
                                            std::size_t codes_panel, const std::int8_t* q,
                                            std::int64_t row_bytes) {
  // Many rows from two places: an address then is a register, the stride and a small factor.
  constexpr int kReach = kRows > 4 ? 3 : kRows;
  const std::int8_t* high = q + kReach * row_bytes;
  unroll<Codes::kParts>([&](auto part) {
    constexpr int kPart = decltype(part)::value;
    typename D::Line line[kPanels];
    unroll<kPanels>([&](auto p) {
      constexpr int kPanel = decltype(p)::value;
      line[kPanel] = Codes::template line<kPart>(codes + kPanel * codes_panel);
    });
    unroll<kRows>([&](auto r) {
      constexpr int kRow = decltype(r)::value;
      const std::int8_t* from = kRow < kReach ? q : high;
      const typename D::Input in = D::input(from + kRow % kReach * row_bytes + kPart * 4);
      unroll<kPanels>([&](auto p) {
        constexpr int kPanel = decltype(p)::value;
        D::add(sum[kRow * kPanels + kPanel], line[kPanel], in);
      });
    });
  });
}

// Lines of codes between two fetches of a block's tile: with several panels they would take as many
// loads as the codes themselves.
constexpr std::int32_t int8_fetch_lines(int panels) {
  return panels > 1 ? 32 : 1;
}

// Streams fetch what lies ahead of them to where it is used, blocks what comes after them to L2.
template <typename V, typename D, typename Codes, int kRows, int kPanels, bool kStream>
[[gnu::noinline]] void int8_tile(const Int8Tile& tile) {
  const std::int64_t row_bytes = tile.row_bytes;
  const std::size_t codes_panel = tile.codes_panel;
  const std::size_t fetch_panel = tile.ahead.panel_bytes;
  const std::size_t fetch_step = tile.ahead.step;
  const std::byte* fetch = tile.ahead.from;
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
    const std::byte* codes_end = codes + static_cast<std::size_t>(tile.lines) * kLineBytes;
    if constexpr (kStream) {
      fetch = tile.ahead.from + at * tile.ahead_group;
      for (int p = 0; p < kPanels; ++p) {
        __builtin_prefetch(tile.scales + p * tile.scales_panel + (at + 1) * tile.scales_group);
      }
    }
    if constexpr (kStream || kPanels == 1) {
      for (; codes != codes_end; codes += kLineBytes, q += Codes::kParts * 4) {
        for (int p = 0; p < kPanels; ++p) {
          __builtin_prefetch(fetch + p * fetch_panel, 0, kStream ? 3 : 2);
        }
        fetch += fetch_step;
        add_line<D, Codes, kRows, kPanels>(sum, codes, codes_panel, q, row_bytes);
      }
    } else {
      do {
        const std::byte* fetch_end = fetch + fetch_step;
        for (; fetch != fetch_end; fetch += kLineBytes) {
          for (int p = 0; p < kPanels; ++p) __builtin_prefetch(fetch + p * fetch_panel, 0, 2);
        }
        const std::byte* stop = codes + int8_fetch_lines(kPanels) * kLineBytes;
        if (stop > codes_end) stop = codes_end;
        do {
          add_line<D, Codes, kRows, kPanels>(sum, codes, codes_panel, q, row_bytes);
          q += Codes::kParts * 4;
          codes += kLineBytes;
        } while (codes != stop);
      } while (codes != codes_end);
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
