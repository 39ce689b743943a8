// Bytes biased by 128, as they lie in a packed line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbatim {

template <typename D>
struct W8Codes {
  static constexpr std::int32_t kOffset = 128;
  static constexpr int kParts = 1;  // lines of bytes that a packed line becomes
  template <int kPart>
  static typename D::Line line(const std::byte* packed) {
    return D::load(packed);
  }
};

}  // namespace verbatim
