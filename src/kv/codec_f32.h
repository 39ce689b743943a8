// Keys and values as float32: for parity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace verbatim {

// Of one head in one page of 64 positions: keys feature-major [head_dim][64], then values row-major
// [64][padded(head_dim)], so that sixteen lanes never read past a row.
constexpr std::int32_t padded_head(std::int32_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}

struct F32Codec {
  static constexpr const char* kName = "f32";
  static constexpr std::int32_t kElementBytes = 4;
  static constexpr std::int64_t key_bytes(std::int32_t head_dim) {
    return std::int64_t{kElementBytes} * 64 * head_dim;
  }
  static constexpr std::int64_t value_bytes(std::int32_t head_dim) {
    return std::int64_t{kElementBytes} * 64 * padded_head(head_dim);
  }
  static void store_key(const float* key, std::byte* keys, std::int32_t slot,
                        std::int32_t head_dim) {
    for (std::int32_t f = 0; f < head_dim; ++f) std::memcpy(keys + 4 * (f * 64 + slot), key + f, 4);
  }
  static void store_value(const float* value, std::byte* values, std::int32_t slot,
                          std::int32_t head_dim) {
    std::memcpy(values + 4 * std::int64_t{slot} * padded_head(head_dim), value,
                4 * static_cast<std::size_t>(head_dim));
  }
  // Sixteen positions of one feature, and sixteen features of one position, in the caller's lanes.
  template <typename V>
  static V load_keys(const std::byte* keys, std::int32_t feature, std::int32_t first_slot) {
    return V::load(static_cast<const float*>(static_cast<const void*>(keys)) + feature * 64 +
                   first_slot);
  }
  template <typename V>
  static V load_values(const std::byte* values, std::int32_t slot, std::int32_t first_feature,
                       std::int32_t head_dim) {
    return V::load(static_cast<const float*>(static_cast<const void*>(values)) +
                   std::int64_t{slot} * padded_head(head_dim) + first_feature);
  }
};

}  // namespace verbatim
