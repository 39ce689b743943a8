// Keys and values as IEEE half, rounded to nearest even: the default.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/page.h"
#include "tensor/half.h"

namespace verbatim {

struct F16Codec {
  static constexpr const char* kName = "f16";
  static constexpr std::int32_t kElementBytes = 2;
  static constexpr std::int64_t key_bytes(std::int32_t head_dim) {
    return std::int64_t{kElementBytes} * kPagePositions * head_dim;
  }
  static constexpr std::int64_t value_bytes(std::int32_t head_dim) {
    return std::int64_t{kElementBytes} * kPagePositions * padded_head(head_dim);
  }
  static void store_key(const float* key, std::byte* keys, std::int32_t slot,
                        std::int32_t head_dim) {
    auto* to = static_cast<std::uint16_t*>(static_cast<void*>(keys));
    for (std::int32_t f = 0; f < head_dim; ++f) to[f * kPagePositions + slot] = to_f16(key[f]);
  }
  static void store_value(const float* value, std::byte* values, std::int32_t slot,
                          std::int32_t head_dim) {
    auto* to = static_cast<std::uint16_t*>(static_cast<void*>(values)) +
               std::int64_t{slot} * padded_head(head_dim);
    for (std::int32_t f = 0; f < head_dim; ++f) to[f] = to_f16(value[f]);
  }
  template <typename V>
  static void store_lanes(std::byte* to, V values) {
    V::store_f16(static_cast<std::uint16_t*>(static_cast<void*>(to)), values);
  }
  template <typename V>
  static V load_keys(const std::byte* keys, std::int32_t feature, std::int32_t first_slot) {
    return V::load_f16(static_cast<const std::uint16_t*>(static_cast<const void*>(keys)) +
                       std::int64_t{feature} * kPagePositions + first_slot);
  }
  template <typename V>
  static V load_values(const std::byte* values, std::int32_t slot, std::int32_t first_feature,
                       std::int32_t head_dim) {
    return V::load_f16(static_cast<const std::uint16_t*>(static_cast<const void*>(values)) +
                       std::int64_t{slot} * padded_head(head_dim) + first_feature);
  }
};

}  // namespace verbatim
