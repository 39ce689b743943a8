// The sums of a few rows by codes and scales, while the packed panels stream by: lines, segments
// and what two segments side by side share. linear_coded.h says what is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/kernels/linear_coded_view.h"

namespace verbatim {

// Rows of x in the weight's order, and their sums over each segment where there
// are zeros.
struct CodedRows {
  const float* x;
  std::int64_t x_stride;
  const float* sums;
  std::int64_t sums_stride;
};

// One line of each panel. (Always inline: a function that does nothing else has no effect in g++'s
// eyes, and its calls would go.)
template <int kPanels>
[[gnu::always_inline]] inline void fetch_lines(const std::byte* from, std::size_t panel_bytes) {
  for (int p = 0; p < kPanels; ++p) __builtin_prefetch(from + p * panel_bytes, 0, 3);
}

// The products of one input feature of a line with a few rows and panels.
template <typename V, typename Codes, int kInput, int kRows, int kPanels>
[[gnu::always_inline]] inline void add_input(V* sum, const std::byte* codes,
                                             std::size_t panel_bytes, const float* x,
                                             std::int64_t x_stride,
                                             const decltype(Codes::book(nullptr))& book) {
  V value[kRows];
  unroll<kRows>([&](auto r) {
    value[decltype(r)::value] = V::set(x[decltype(r)::value * x_stride + kInput]);
  });
  unroll<kPanels>([sum, codes, panel_bytes, &value, &book](auto p) {
    constexpr int kPanel = decltype(p)::value;
    const V w = Codes::template column<kInput>(codes + kPanel * panel_bytes, book);
    unroll<kRows>([sum, w, &value](auto r) {
      constexpr int kSum = decltype(r)::value * kPanels + kPanel;
      sum[kSum] = V::fma(value[decltype(r)::value], w, sum[kSum]);
    });
  });
}

// The same of the first kInputs input features of a line.
template <typename V, typename Codes, int kRows, int kPanels, int... kInput>
[[gnu::always_inline]] inline void add_inputs(std::integer_sequence<int, kInput...>, V* sum,
                                              const std::byte* codes, std::size_t panel_bytes,
                                              const float* x, std::int64_t x_stride,
                                              const decltype(Codes::book(nullptr))& book) {
  (add_input<V, Codes, kInput, kRows, kPanels>(sum, codes, panel_bytes, x, x_stride, book), ...);
}

// A segment's sums meet their scales, in totals.
template <typename V, int kRows, int kPanels>
[[gnu::always_inline]] inline void end_segment(const V* sum, const CodedView& view,
                                               const std::byte* head, const CodedRows& rows,
                                               std::int64_t segment, float* totals) {
  unroll<kRows * kPanels>([&](auto i) {
    constexpr int kSum = decltype(i)::value;
    const std::byte* line = head + kSum % kPanels * view.panel_bytes;
    V whole = sum[kSum];
    if (view.zeros) {
      const V x_sum = V::set(rows.sums[kSum / kPanels * rows.sums_stride + segment]);
      whole = V::fma(load_line<V>(line + kLineBytes), x_sum, whole);
    }
    float* total = totals + kSum * V::kLanes;
    V::store(total, V::fma(whole, load_line<V>(line), V::load(total)));
  });
}

// Of two segments side by side each fetches what the next two will need of it, at least so far on.
[[gnu::always_inline]] inline std::size_t pair_ahead(const CodedView& view, int line_inputs,
                                                     std::size_t least) {
  const std::size_t pair = 2 * (view.head_bytes + coded_code_bytes(view.group, line_inputs));
  return (least + pair - 1) / pair * pair;
}

// totals: [kRows][kPanels][16], all segments. Few sums wait for each other's
// additions, so two segments go side by side where there are registers for
// both.
template <typename V, typename Codes, int kRows, int kPanels>
[[gnu::noinline]] void stream_totals(const CodedView& view, const CodedRows& rows,
                                     std::int32_t in_features, const std::byte* panels,
                                     float* totals) {
  constexpr int kSums = kRows * kPanels;
  constexpr bool kPairs = 4 * kSums <= V::kStreamSums;
  constexpr std::size_t kStreamAhead = 4096 / kPanels;
  constexpr int kPairInputs = 128;  // longer segments would be fetched too far ahead
  constexpr int kInputs = Codes::kLineInputs;
  const auto book = Codes::book(view.book);
  constexpr std::make_integer_sequence<int, kInputs> line;
  const std::size_t panel_bytes = view.panel_bytes;
  const bool pairs = kPairs && view.group <= kPairInputs && view.group % kInputs == 0;
  const std::size_t ahead = pairs ? pair_ahead(view, kInputs, kStreamAhead) : kStreamAhead;
  for (int i = 0; i < kSums; ++i) V::store(totals + i * V::kLanes, V::zero());
  std::int64_t at = 0;
  for (CodedSegment segment(in_features, view.group); segment.exists();) {
    const float* x = rows.x + segment.first;
    const int count = segment.count;
    const std::byte* head = panels;
    fetch_lines<kPanels>(head + ahead, panel_bytes);
    if (view.zeros) fetch_lines<kPanels>(head + kLineBytes + ahead, panel_bytes);
    panels += view.head_bytes;
    segment.next();
    V sum[kSums];
    unroll<kSums>([&](auto i) { sum[decltype(i)::value] = V::zero(); });
    if constexpr (kPairs) {
      if (pairs && segment.exists() && segment.count == count) {
        const std::byte* next = panels + coded_code_bytes(count, kInputs);
        fetch_lines<kPanels>(next + ahead, panel_bytes);
        if (view.zeros) fetch_lines<kPanels>(next + kLineBytes + ahead, panel_bytes);
        V other[kSums];
        unroll<kSums>([&](auto i) { other[decltype(i)::value] = V::zero(); });
        const std::size_t apart = static_cast<std::size_t>(next - head);
        for (const float* end = x + count; x != end; x += kInputs, panels += kLineBytes) {
          fetch_lines<kPanels>(panels + ahead, panel_bytes);
          fetch_lines<kPanels>(panels + apart + ahead, panel_bytes);
          add_inputs<V, Codes, kRows, kPanels>(line, sum, panels, panel_bytes, x, rows.x_stride,
                                               book);
          add_inputs<V, Codes, kRows, kPanels>(line, other, panels + apart, panel_bytes, x + count,
                                               rows.x_stride, book);
        }
        end_segment<V, kRows, kPanels>(sum, view, head, rows, at, totals);
        end_segment<V, kRows, kPanels>(other, view, next, rows, at + 1, totals);
        panels += apart;
        at += 2;
        segment.next();
        continue;
      }
    }
    int left = count;
    for (; left >= kInputs; left -= kInputs, panels += kLineBytes, x += kInputs) {
      fetch_lines<kPanels>(panels + ahead, panel_bytes);
      add_inputs<V, Codes, kRows, kPanels>(line, sum, panels, panel_bytes, x, rows.x_stride, book);
    }
    if (left > 0) {
      unroll<kInputs>([&](auto input) {
        if (decltype(input)::value < left) {
          add_input<V, Codes, decltype(input)::value, kRows, kPanels>(sum, panels, panel_bytes, x,
                                                                      rows.x_stride, book);
        }
      });
      panels += kLineBytes;
    }
    end_segment<V, kRows, kPanels>(sum, view, head, rows, at, totals);
    ++at;
  }
}

}  // namespace verbatim
