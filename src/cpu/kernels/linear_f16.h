// float16 panels: per panel of sixteen outputs [in_features, rounded up to 2][16] halves; outputs
// and inputs beyond the last are zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbatim {

template <typename V>
struct F16Panels {
  static constexpr bool kDirect = false;
  static constexpr int kLineInputs = 2;
  template <int kInput>
  static V column(const std::byte* line) {
    return V::load_f16(static_cast<const std::uint16_t*>(static_cast<const void*>(line)) +
                       kInput * V::kLanes);
  }
};

}  // namespace verbatim
