// Halves of bytes biased by 8: a packed line becomes two lines of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbatim {

template <typename D>
struct W4Codes {
  static constexpr std::int32_t kOffset = 8;
  static constexpr int kParts = 2;
  template <int kPart>
  static typename D::Line line(const std::byte* packed) {
    if constexpr (kPart == 0) {
      return D::low_halves(packed);
    } else {
      return D::high_halves(packed);
    }
  }
};

}  // namespace verbatim
