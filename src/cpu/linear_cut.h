// How one matrix product is dealt out to workers: by panels of outputs, or by rows where there are
// few panels. Every output element stays whole, so no cut changes a bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.h"

namespace verbatim {

constexpr std::int64_t panel_count(std::int64_t out_features) {
  return (out_features + kLanes - 1) / kLanes;
}

struct LinearCut {
  bool by_rows = false;
  std::int64_t count = 0;  // panels or rows
  std::int64_t grain = 1;  // what a part is a multiple of, as ThreadPool::parallel_for takes it

  // The part [first, last) of `whole`, whose panel, panels and scratch are not looked at.
  LinearCall part(const LinearCall& whole, std::int64_t first, std::int64_t last,
                  std::byte* scratch) const;
};

LinearCut linear_cut(const LinearCall& whole, int threads);

}  // namespace verbatim
