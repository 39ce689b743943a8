// For tests: random values that are the same on every machine, and as a weight format keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tensor/half.h"
#include "weights/format.h"

namespace verbatim {

class TestValues {
 public:
  explicit TestValues(std::uint32_t seed) : state_(seed * 2654435761U + 1U) {}
  float uniform() {  // in [-1, 1), with 24 bits
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 8) - (1 << 23)) /
           static_cast<float>(1 << 23);
  }
  std::vector<float> uniforms(std::int64_t count, float scale = 1.0F, float middle = 0.0F) {
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& value : made) value = middle + scale * uniform();
    return made;
  }

 private:
  std::uint32_t state_;
};

// Values as a dense format keeps them.
inline std::vector<std::byte> stored(const WeightFormat& format, std::span<const float> values) {
  std::vector<std::byte> bytes(values.size() * format.element_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = &format == &kFormatF16 ? to_f16(values[i]) : to_bf16(values[i]);
    const void* from = format.element_bytes == 4 ? static_cast<const void*>(&values[i]) : &half;
    std::memcpy(bytes.data() + i * format.element_bytes, from, format.element_bytes);
  }
  return bytes;
}

}  // namespace verbatim
