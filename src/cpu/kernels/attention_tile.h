// The two register tiles of attention: kCount queries by wide(kCount) loads of sixteen positions or
// features, every sum one chain of fused multiply-adds in its own register.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/attention_view.h"
#include "cpu/kernels/unroll.h"

namespace verbatim {

// One page of one head, and the queries that look at it together.
struct AttentionTileCall {
  std::int32_t count = 0;
  std::int32_t head_dim = 0;
  std::int32_t begin = 0;  // the slots to look at
  std::int32_t end = 0;
  const std::byte* page = nullptr;   // its keys or its values
  const std::byte* ahead = nullptr;  // what to ask the memory for meanwhile: those of the next page
};

template <typename V, typename Codec>
struct AttentionTile {
  static constexpr std::int32_t kPage = AttentionView<V>::kPage;
  static constexpr std::int32_t kMost = V::kTileRows;  // queries of a tile
  static constexpr std::int32_t wide(std::int32_t count) {
    constexpr std::int32_t kSums = V::kTileRows * V::kTilePanels;
    return 4 * count <= kSums ? 4 : 2 * count <= kSums ? 2 : 1;
  }
  // Few sizes, because each is code of its own; the groups of one decoded row are among them.
  static constexpr bool is_size(std::int32_t count) {
    return count == kMost || (count < kMost && (count <= 4 || (count >= 6 && count <= 8)));
  }
  static constexpr std::int32_t largest_size(std::int32_t most) {
    std::int32_t count = most < kMost ? most : kMost;
    while (!is_size(count)) --count;
    return count;
  }

  // scores[i][slot] = scale * (q_i . key of the slot), for the slots of the call and those that
  // share their loads. queries is [head_dim][count], scores [count][64].
  template <int kCount = kMost>
  static void score(const AttentionTileCall& call, const float* queries, float scale,
                    float* scores) {
    if (call.count == kCount) {
      score_tile<kCount>(call, queries, scale, scores);
    } else if constexpr (kCount > 1) {
      score<largest_size(kCount - 1)>(call, queries, scale, scores);
    }
  }

  // context[i] += weights[i][slot] * value of the slot, for the slots of the call in order.
  // weights is [count][64], context [count][padded head_dim].
  template <int kCount = kMost>
  static void mix(const AttentionTileCall& call, const float* weights, float* context) {
    if (call.count == kCount) {
      mix_tile<kCount>(call, weights, context);
    } else if constexpr (kCount > 1) {
      mix<largest_size(kCount - 1)>(call, weights, context);
    }
  }

 private:
  // Asks for what the next page's step will load, where steps go through a page in order.
  template <int kWide>
  static void prefetch(const std::byte* ahead, std::int64_t step) {
    constexpr std::int64_t kBytes = std::int64_t{kWide} * V::kLanes * Codec::kElementBytes;
    constexpr std::int64_t kLine = 64;
    for (std::int64_t at = 0; at < kBytes; at += kLine) {
      __builtin_prefetch(ahead + step * kBytes + at, 0, 2);
    }
  }

  template <int kCount>
  [[gnu::noinline]] static void score_tile(const AttentionTileCall& call, const float* queries,
                                           float scale, float* scores) {
    constexpr std::int32_t kWide = wide(kCount);
    constexpr std::int32_t kStep = kWide * V::kLanes;
    const V factor = V::set(scale);
    for (std::int32_t slot = call.begin / kStep * kStep; slot < call.end; slot += kStep) {
      V sum[kCount * kWide];
      unroll<kCount * kWide>([&](auto i) { sum[decltype(i)::value] = V::zero(); });
      for (std::int32_t f = 0; f < call.head_dim; ++f) {
        prefetch<kWide>(call.ahead, std::int64_t{slot} / kStep * call.head_dim + f);
        V key[kWide];
        unroll<kWide>([&](auto w) {
          constexpr int kKey = decltype(w)::value;
          key[kKey] = Codec::template load_keys<V>(call.page, f, slot + kKey * V::kLanes);
        });
        unroll<kCount>([&](auto i) {
          const V query = V::set(queries[f * kCount + decltype(i)::value]);
          add_products<decltype(i)::value * kWide, kWide>(query, key, sum);
        });
      }
      unroll<kCount * kWide>([&](auto i) {
        constexpr std::int64_t kSum = decltype(i)::value;
        float* to = scores + kSum / kWide * kPage + slot + kSum % kWide * V::kLanes;
        V::store(to, V::mul(sum[kSum], factor));
      });
    }
  }

  template <int kCount>
  [[gnu::noinline]] static void mix_tile(const AttentionTileCall& call, const float* weights,
                                         float* context) {
    constexpr std::int32_t kWide = wide(kCount);
    const std::int64_t stride = padded_head(call.head_dim);
    std::int32_t feature = 0;
    for (; feature + kWide * V::kLanes <= stride; feature += kWide * V::kLanes) {
      mix_block<kCount, kWide>(call, weights, feature, context + feature);
    }
    for (; feature < stride; feature += V::kLanes) {
      mix_block<kCount, 1>(call, weights, feature, context + feature);
    }
  }

  template <int kCount, int kWide>
  static void mix_block(const AttentionTileCall& call, const float* weights, std::int32_t feature,
                        float* context) {
    const std::int64_t stride = padded_head(call.head_dim);
    V sum[kCount * kWide];
    unroll<kCount * kWide>([&](auto i) {
      constexpr int kSum = decltype(i)::value;
      sum[kSum] = V::load(context + kSum / kWide * stride + kSum % kWide * V::kLanes);
    });
    for (std::int32_t slot = call.begin; slot < call.end; ++slot) {
      prefetch<kWide>(call.ahead, feature / (kWide * V::kLanes) * kPage + slot);
      V value[kWide];
      unroll<kWide>([&](auto w) {
        constexpr int kValue = decltype(w)::value;
        value[kValue] = Codec::template load_values<V>(call.page, slot,
                                                       feature + kValue * V::kLanes, call.head_dim);
      });
      unroll<kCount>([&](auto i) {
        const V weight = V::set(weights[decltype(i)::value * kPage + slot]);
        add_products<decltype(i)::value * kWide, kWide>(weight, value, sum);
      });
    }
    unroll<kCount * kWide>([&](auto i) {
      constexpr int kSum = decltype(i)::value;
      V::store(context + kSum / kWide * stride + kSum % kWide * V::kLanes, sum[kSum]);
    });
  }

  template <int kFirst, int kWide>
  [[gnu::always_inline]] static void add_products(V factor, const V* loaded, V* sum) {
    unroll<kWide>([&](auto w) {
      constexpr int kSum = kFirst + decltype(w)::value;
      sum[kSum] = V::fma(factor, loaded[decltype(w)::value], sum[kSum]);
    });
  }
};

}  // namespace verbatim
