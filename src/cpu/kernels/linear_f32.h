// float32 panels: per panel of sixteen outputs [in_features][16], outputs beyond the last are zero.
#pragma once

#include <cstddef>

namespace verbatim {

template <typename V>
struct F32Panels {
  static constexpr bool kDirect = true;  // the columns are what the tile reads
  static constexpr int kLineInputs = 1;  // input features in one line of 64 bytes
  template <int kInput>
  static V column(const std::byte* line) {
    return V::load(static_cast<const float*>(static_cast<const void*>(line)));
  }
};

}  // namespace verbatim
