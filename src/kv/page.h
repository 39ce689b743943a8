// The page of the KV cache, as codecs fill it and kernels read it.
#pragma once

#include <cstdint>

namespace verbatim {

constexpr std::int32_t kPagePositions = 64;

// Of one head in one page: keys feature-major [head_dim][64], then values row-major
// [64][padded(head_dim)], so that sixteen lanes never read past a row.
constexpr std::int32_t padded_head(std::int32_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

}  // namespace verbatim
