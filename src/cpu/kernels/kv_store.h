// Keys and values on their way into a page, sixteen features at a time: the bytes that the codec's
// store_key and store_value define.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/kernel_table.h"
#include "kv/page.h"

namespace verbatim {

template <typename V, typename Codec>
struct KvStore {
  static constexpr std::int64_t kBytes = Codec::kElementBytes;

  static void run(const KvStoreCall& call) {
    std::byte* values = call.page + Codec::key_bytes(call.head_dim);
    const std::int64_t value_bytes = kBytes * padded_head(call.head_dim);
    for (std::int32_t f = 0; f < call.head_dim; f += V::kLanes) {
      const std::int32_t left = call.head_dim - f;
      const int count = left < V::kLanes ? left : V::kLanes;
      store_keys(call, f, count);
      for (std::int32_t r = 0; r < call.rows; ++r) {
        std::byte* to = values + (call.slot + r) * value_bytes + f * kBytes;
        store_part(to, load(call.v + r * call.v_stride + f, count), count);
      }
    }
  }

 private:
  static V load(const float* from, int count) {
    return count == V::kLanes ? V::load(from) : V::load(from, count);
  }
  static void store_part(std::byte* to, V row, int count) {
    if (count == V::kLanes) return Codec::template store_lanes<V>(to, row);
    alignas(64) std::byte whole[V::kLanes * kBytes];
    Codec::template store_lanes<V>(whole, row);
    std::memcpy(to, whole, static_cast<std::size_t>(count * kBytes));
  }

  // Features stand a page's width apart: the rows of each are written side by side.
  static void store_keys(const KvStoreCall& call, std::int32_t feature, int count) {
    alignas(64) std::byte rows[kPagePositions * V::kLanes * kBytes];
    for (std::int32_t r = 0; r < call.rows; ++r) {
      Codec::template store_lanes<V>(rows + r * V::kLanes * kBytes,
                                     load(call.k + r * call.k_stride + feature, count));
    }
    for (int f = 0; f < count; ++f) {
      std::byte* to = call.page + ((feature + f) * kPagePositions + call.slot) * kBytes;
      const std::byte* from = rows + f * kBytes;
      for (std::int32_t r = 0; r < call.rows; ++r) {
        std::memcpy(to + r * kBytes, from + r * V::kLanes * kBytes, kBytes);
      }
    }
  }
};

}  // namespace verbatim
