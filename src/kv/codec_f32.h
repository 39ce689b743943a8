// Keys and values as float32: for parity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kv/page.h"

namespace verbatim {

struct F32Codec {
  static constexpr const char* kName = "f32";
  static constexpr std::int32_t kElementBytes = 4;
  static constexpr std::int64_t key_bytes(std::int32_t head_dim) {
    return std::int64_t{kElementBytes} * kPagePositions * head_dim;
  }
  static constexpr std::int64_t value_bytes(std::int32_t head_dim) {
    return std::int64_t{kElementBytes} * kPagePositions * padded_head(head_dim);
  }
  static void store_key(const float* key, std::byte* keys, std::int32_t slot,
                        std::int32_t head_dim) {
    for (std::int32_t f = 0; f < head_dim; ++f)
      std::memcpy(keys + 4 * (std::int64_t{f} * kPagePositions + slot), key + f, 4);
  }
  static void store_value(const float* value, std::byte* values, std::int32_t slot,
                          std::int32_t head_dim) {
    std::memcpy(values + 4 * std::int64_t{slot} * padded_head(head_dim), value,
                4 * static_cast<std::size_t>(head_dim));
  }
  // Sixteen elements side by side, with the bits that store_key and store_value give them.
  template <typename V>
  static void store_lanes(std::byte* to, V values) {
    V::store(static_cast<float*>(static_cast<void*>(to)), values);
  }
  // Sixteen positions of one feature, and sixteen features of one position, in the caller's lanes.
  template <typename V>
  static V load_keys(const std::byte* keys, std::int32_t feature, std::int32_t first_slot) {
    return V::load(static_cast<const float*>(static_cast<const void*>(keys)) +
                   std::int64_t{feature} * kPagePositions + first_slot);
  }
  template <typename V>
  static V load_values(const std::byte* values, std::int32_t slot, std::int32_t first_feature,
                       std::int32_t head_dim) {
    return V::load(static_cast<const float*>(static_cast<const void*>(values)) +
                   std::int64_t{slot} * padded_head(head_dim) + first_feature);
  }
};

}  // namespace verbatim
