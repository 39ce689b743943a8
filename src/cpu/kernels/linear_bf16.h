// bfloat16 panels: per panel of sixteen outputs [in_features / 2, rounded up][16] words, the even
// input feature in the lower half of the word and the odd one in the upper: widening is one shift
// or one mask. Outputs and inputs beyond the last are zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbatim {

template <typename V>
struct Bf16Panels {
  static constexpr bool kDirect = false;
  static constexpr int kLineInputs = 2;
  template <int kInput>
  static V column(const std::byte* line) {
    const auto* words = static_cast<const std::uint32_t*>(static_cast<const void*>(line));
    if constexpr (kInput == 0) {
      return V::low_bf16(words);
    } else {
      return V::high_bf16(words);
    }
  }
};

}  // namespace verbatim
