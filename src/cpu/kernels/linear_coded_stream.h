// A projection of a few rows by codes and scales: the packed panels stream by once. linear_coded.h
// says what is computed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_coded_sums.h"
#include "cpu/kernels/linear_stream.h"

namespace verbatim {

template <typename V, typename Codes, int kRows, int kPanels>
void stream_coded_panels(const LinearCall& call, const CodedView& view, const CodedRows& rows,
                         std::int64_t panel) {
  alignas(kLineBytes) float totals[kRows * kPanels * V::kLanes];
  stream_totals<V, Codes, kRows, kPanels>(view, rows, call.in_features, view.panel(panel), totals);
  for (int p = 0; p < kPanels; ++p) {
    const std::int64_t output = (panel + p) * V::kLanes;
    const std::int64_t left = call.out_features - output;
    const int count = left < V::kLanes ? static_cast<int>(left) : V::kLanes;
    for (int r = 0; r < kRows; ++r) {
      const V total = V::load(totals + (r * kPanels + p) * V::kLanes);
      store_lanes(call.y + r * call.y_stride + output, count,
                  linear_epilogue<V>(call, r, output, count, total));
    }
  }
}

template <typename V, typename Codes, int kRows>
void stream_coded_rows(const LinearCall& call, const CodedView& view, const CodedRows& rows) {
  constexpr int kPanels = stream_panels_of<V>(kRows);
  std::int64_t panel = call.panel;
  const std::int64_t end = call.panel + call.panels;
  for (; panel + kPanels <= end; panel += kPanels) {
    stream_coded_panels<V, Codes, kRows, kPanels>(call, view, rows, panel);
  }
  if constexpr (kPanels > 1) {
    for (; panel < end; ++panel) stream_coded_panels<V, Codes, kRows, 1>(call, view, rows, panel);
  }
}

// The rows as they are, or in scratch: in order, then the sums of every row.
template <typename V>
CodedRows coded_rows(const LinearCall& call, const CodedView& view) {
  CodedRows rows{call.x, call.x_stride, nullptr, 0};
  auto* scratch = static_cast<float*>(static_cast<void*>(call.scratch));
  if (view.order != nullptr) {
    rows.x = scratch;
    rows.x_stride = call.in_features;
    for (std::int64_t r = 0; r < call.rows; ++r, scratch += call.in_features) {
      take_inputs<V>(call.x + r * call.x_stride, view.order, 0, call.in_features, scratch);
    }
  }
  if (!view.zeros) return rows;
  rows.sums = scratch;
  rows.sums_stride = view.segments;
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const float* x = rows.x + r * rows.x_stride;
    for (CodedSegment segment(call.in_features, view.group); segment.exists(); segment.next()) {
      *scratch++ = sum_of_inputs<V>(x + segment.first, segment.count);
    }
  }
  return rows;
}

template <typename V, typename Codes>
void stream_coded(const LinearCall& call, const CodedView& view) {
  static_assert(kStreamRows == 4);
  const CodedRows rows = coded_rows<V>(call, view);
  switch (call.rows) {
    case 1:
      return stream_coded_rows<V, Codes, 1>(call, view, rows);
    case 2:
      return stream_coded_rows<V, Codes, 2>(call, view, rows);
    case 3:
      return stream_coded_rows<V, Codes, 3>(call, view, rows);
    default:
      return stream_coded_rows<V, Codes, 4>(call, view, rows);
  }
}

}  // namespace verbatim
