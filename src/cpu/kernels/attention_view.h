// Which slots of which page a query row may see: those at or before its own position, and within
// the window. And what scratch a call needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.h"
#include "kv/page.h"

namespace verbatim {

// Eight rows of a group of seven fill five tiles of AVX-512, and share each page while it is in the
// first cache; their scores take 7 MB at 32,768 positions.
constexpr std::int32_t kAttentionRows = 8;

struct AttentionSlots {  // of one page
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

// A template over the lanes only so that each instruction set has its own code.
template <typename V>
struct AttentionView {
  static constexpr std::int32_t kPage = kPagePositions;
  const AttentionCall& call;

  std::int64_t first_page() const { return first_position(call.position) / kPage; }
  std::int64_t end_page() const { return (call.position + call.rows - 1) / kPage + 1; }

  // Queries are numbered row by row, the heads of the group side by side.
  AttentionSlots seen(std::int64_t page, std::int32_t query) const {
    const std::int64_t position = call.position + query / call.group;
    return {slot(first_position(position) - page * kPage), slot(position + 1 - page * kPage)};
  }
  std::int64_t q_offset(std::int32_t query) const {
    return query / call.group * call.q_stride + query % call.group * std::int64_t{call.head_dim};
  }
  std::int64_t out_offset(std::int32_t query) const {
    return query / call.group * call.out_stride + query % call.group * std::int64_t{call.head_dim};
  }

 private:
  std::int64_t first_position(std::int64_t position) const {
    return call.window > 0 && position >= call.window ? position - call.window + 1 : 0;
  }
  static std::int32_t slot(std::int64_t offset) {
    return offset < 0 ? 0 : offset > kPage ? kPage : static_cast<std::int32_t>(offset);
  }
};

// What a call of any codec needs. positions: from the first that a row of it sees to the last.
template <typename V>
std::size_t attention_scratch_bytes(std::int32_t group, std::int32_t head_dim,
                                    std::int64_t positions) {
  constexpr std::int64_t kPage = AttentionView<V>::kPage;
  const std::int64_t pages = (positions + kPage - 1) / kPage + 1;  // they may begin inside one
  const std::int64_t per_query =
      std::int64_t{2} * V::kLanes + padded_head(head_dim) + pages * kPage + head_dim;
  return sizeof(float) * static_cast<std::size_t>(std::int64_t{kAttentionRows} * group * per_query);
}

}  // namespace verbatim
