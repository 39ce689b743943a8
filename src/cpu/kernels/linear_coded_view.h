// A packed weight of codes and scales as the loops read it, and the pieces of work that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/kernel_table.h"
#include "cpu/kernels/linear_coded_layout.h"
#include "cpu/kernels/unroll.h"

namespace verbatim {

// The packed weight as its header describes it.
struct CodedView {
  const float* book;
  const std::int32_t* order;  // null: input features as they come
  const std::byte* panels;
  std::size_t panel_bytes;
  std::size_t head_bytes;  // of a segment
  std::int32_t group;
  std::int32_t segments;
  bool zeros;

  [[gnu::always_inline]] const std::byte* panel(std::int64_t at) const {
    return panels + static_cast<std::size_t>(at) * panel_bytes;
  }
};

[[gnu::always_inline]] inline CodedView coded_view(const LinearCall& call) {
  const auto* header = static_cast<const CodedHeader*>(static_cast<const void*>(call.packed));
  const void* order = call.packed + sizeof(CodedHeader);
  return {header->book,
          header->order != 0 ? static_cast<const std::int32_t*>(order) : nullptr,
          call.packed + header->panels_at,
          static_cast<std::size_t>(header->panel_bytes),
          coded_head_bytes(header->zeros != 0),
          header->group,
          header->segments,
          header->zeros != 0};
}

template <typename V>
V load_line(const std::byte* line) {
  return V::load(static_cast<const float*>(static_cast<const void*>(line)));
}

// Input features [first, first + count) of a row, in the weight's order.
template <typename V>
void take_inputs(const float* x, const std::int32_t* order, int first, int count, float* to) {
  if (order != nullptr) {
    for (int k = 0; k < count; ++k) to[k] = x[order[first + k]];
    return;
  }
  const float* from = x + first;
  int k = 0;
  for (; k + V::kLanes <= count; k += V::kLanes) V::store(to + k, V::load(from + k));
  if (k < count) V::store(to + k, V::load(from + k, count - k), count - k);
}

template <typename V>
float sum_of_inputs(const float* x, int count) {
  V sum = V::zero();
  int k = 0;
  for (; k + V::kLanes <= count; k += V::kLanes) sum = V::add(sum, V::load(x + k));
  if (k < count) sum = V::add(sum, V::load(x + k, count - k));
  return V::sum(sum);
}

// The codes of one segment as floats, [count][16].
template <typename V, typename Codes>
void decode_codes(const std::byte* codes, const float* book_values, int count, float* columns) {
  constexpr int kInputs = Codes::kLineInputs;
  const auto book = Codes::book(book_values);
  int k = 0;
  for (; k + kInputs <= count; k += kInputs, codes += kLineBytes) {
    unroll<kInputs>([&](auto input) {
      constexpr int kInput = decltype(input)::value;
      V::store(columns + (k + kInput) * V::kLanes, Codes::template column<kInput>(codes, book));
    });
  }
  unroll<kInputs>([&](auto input) {
    constexpr int kInput = decltype(input)::value;
    if (k + kInput < count) {
      V::store(columns + (k + kInput) * V::kLanes, Codes::template column<kInput>(codes, book));
    }
  });
}

constexpr int kChunkSegments = kLinearSegment / kCodedSmallestGroup;

// Whole segments that a block takes at a time, kLinearSegment input features at most.
struct CodedChunk {
  int first = 0;  // input feature
  int count = 0;
  int segments = 0;
  int starts[kChunkSegments + 1] = {};     // input features from `first`
  std::size_t heads[kChunkSegments] = {};  // where segments lie in a panel
  std::size_t end = 0;                     // where the last one ends
};

template <typename V, typename Codes>
CodedChunk next_chunk(CodedSegment& segment, std::size_t at, std::size_t head_bytes) {
  CodedChunk chunk;
  chunk.first = segment.first;
  do {
    chunk.heads[chunk.segments] = at;
    at += head_bytes + coded_code_bytes(segment.count, Codes::kLineInputs);
    chunk.count += segment.count;
    chunk.starts[++chunk.segments] = chunk.count;
    segment.next();
  } while (segment.exists() && chunk.count + segment.count <= kLinearSegment);
  chunk.end = at;
  return chunk;
}

}  // namespace verbatim
