// Attention of a block of query rows over one KV head: out = softmax(scale q k^T) v, in two walks
// over the pages. First the scores (lanes are positions; a score is one chain of fused
// multiply-adds along head_dim from zero, times scale) and their maximum; then e^(score - max), its
// sum in sixteen running sums by absolute position modulo 16, and the context (lanes are features;
// one chain along the visible positions from zero), divided by the joined sum at the end. What a
// row may not see enters none of its chains, so its bits depend neither on its company nor on what
// else a page holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernel_table.h"
#include "cpu/kernels/attention_tile.h"
#include "cpu/kernels/attention_view.h"
#include "cpu/kernels/kv_store.h"
#include "cpu/kernels/math.h"
#include "kv/codecs.h"

namespace verbatim {

template <typename V, typename Codec>
class Attention {
 public:
  static void run(const AttentionCall& call) { Attention(call).walk(); }

 private:
  using Tile = AttentionTile<V, Codec>;
  static constexpr std::int32_t kPage = AttentionView<V>::kPage;
  static constexpr float kHidden = -__builtin_inff();  // the score of what may not be seen
  // e^x below here counts as 0: it is under 2^-92, and its products with values could be denormal.
  static constexpr float kLeast = -64.0F;

  explicit Attention(const AttentionCall& call)
      : call_(call),
        view_{call},
        queries_(call.rows * call.group),
        context_stride_(padded_head(call.head_dim)),
        maxima_(static_cast<float*>(static_cast<void*>(call.scratch))),
        sums_(maxima_ + std::int64_t{queries_} * V::kLanes),
        contexts_(sums_ + std::int64_t{queries_} * V::kLanes),
        scores_(contexts_ + queries_ * context_stride_),
        packed_(scores_ + (view_.end_page() - view_.first_page()) * queries_ * kPage) {}

  void walk() {
    for (std::int32_t q = 0; q < queries_; ++q) clear(q);
    const std::int64_t end_page = view_.end_page();
    for (std::int64_t page = view_.first_page(); page < end_page; ++page) {
      for (std::int32_t first = 0, count = 0; first < queries_; first += count) {
        count = Tile::largest_size(queries_ - first);
        if (page == view_.first_page()) pack(first, count);
        score(page, first, count);
      }
    }
    for (std::int32_t q = 0; q < queries_; ++q) {
      float* maximum = maxima_ + std::int64_t{q} * V::kLanes;
      V::store(maximum, V::set(V::max_of(V::load(maximum))));
    }
    for (std::int64_t page = view_.first_page(); page < end_page; ++page) {
      for (std::int32_t first = 0, count = 0; first < queries_; first += count) {
        count = Tile::largest_size(queries_ - first);
        for (std::int32_t q = first; q < first + count; ++q) weigh(page, q);
        mix(page, first, count);
      }
    }
    for (std::int32_t q = 0; q < queries_; ++q) finish(q);
  }

  const std::byte* keys(std::int64_t page) const { return call_.pages[page - call_.first_page]; }
  const std::byte* values(std::int64_t page) const {
    return keys(page) + Codec::key_bytes(call_.head_dim);
  }
  // The page to ask for: the next one while the first and largest tile is at this one.
  std::int64_t ahead(std::int64_t page, std::int32_t first_query) const {
    return first_query == 0 && page + 1 < view_.end_page() ? page + 1 : page;
  }
  float* scores(std::int64_t page, std::int32_t query) const {
    return scores_ + ((page - view_.first_page()) * queries_ + query) * kPage;
  }

  void clear(std::int32_t query) {
    V::store(maxima_ + std::int64_t{query} * V::kLanes, V::set(kHidden));
    V::store(sums_ + std::int64_t{query} * V::kLanes, V::zero());
    float* context = contexts_ + query * context_stride_;
    for (std::int64_t f = 0; f < context_stride_; f += V::kLanes) V::store(context + f, V::zero());
  }

  void pack(std::int32_t first, std::int32_t count) {
    float* to = packed_ + std::int64_t{first} * call_.head_dim;
    for (std::int32_t i = 0; i < count; ++i) {
      const float* from = call_.q + view_.q_offset(first + i);
      for (std::int32_t f = 0; f < call_.head_dim; ++f) to[f * count + i] = from[f];
    }
  }

  void score(std::int64_t page, std::int32_t first, std::int32_t count) {
    const AttentionTileCall tile{.count = count,
                                 .head_dim = call_.head_dim,
                                 .begin = view_.seen(page, first).begin,  // the tile's earliest
                                 .end = view_.seen(page, first + count - 1).end,  // and latest
                                 .page = keys(page),
                                 .ahead = keys(ahead(page, first))};
    const float* queries = packed_ + std::int64_t{first} * call_.head_dim;
    Tile::score(tile, queries, call_.scale, scores(page, first));
    for (std::int32_t q = first; q < first + count; ++q) {
      float* score = scores(page, q);
      const AttentionSlots slots = view_.seen(page, q);
      for (std::int32_t s = 0; s < slots.begin; ++s) score[s] = kHidden;
      for (std::int32_t s = slots.end; s < kPage; ++s) score[s] = kHidden;
      float* maximum = maxima_ + std::int64_t{q} * V::kLanes;
      V largest = V::load(maximum);
      for (std::int32_t s = 0; s < kPage; s += V::kLanes) {
        largest = V::max(V::load(score + s), largest);
      }
      V::store(maximum, largest);
    }
  }

  // Turns scores into weights; a hidden one becomes +0, which leaves its running sum as it is.
  void weigh(std::int64_t page, std::int32_t query) {
    float* score = scores(page, query);
    float* running = sums_ + std::int64_t{query} * V::kLanes;
    const V maximum = V::load(maxima_ + std::int64_t{query} * V::kLanes);
    V sum = V::load(running);
    for (std::int32_t s = 0; s < kPage; s += V::kLanes) {
      const V weight = exp<V>(V::sub(V::load(score + s), maximum), kLeast);
      V::store(score + s, weight);
      sum = V::add(sum, weight);
    }
    V::store(running, sum);
  }

  // The slots that all queries of the tile see are mixed together, the others one by one around
  // them: not even a weight of zero may touch a chain that should not have it.
  void mix(std::int64_t page, std::int32_t first, std::int32_t count) {
    const std::int32_t begin = view_.seen(page, first + count - 1).begin;
    const std::int32_t common_end = view_.seen(page, first).end;
    const std::int32_t end = common_end > begin ? common_end : begin;
    for (std::int32_t q = first; q < first + count; ++q) {
      const AttentionSlots slots = view_.seen(page, q);
      mix_slots(page, q, 1, slots.begin, begin < slots.end ? begin : slots.end);
    }
    mix_slots(page, first, count, begin, end);
    for (std::int32_t q = first; q < first + count; ++q) {
      mix_slots(page, q, 1, end, view_.seen(page, q).end);
    }
  }

  void mix_slots(std::int64_t page, std::int32_t first, std::int32_t count, std::int32_t begin,
                 std::int32_t end) {
    if (begin >= end) return;
    const AttentionTileCall tile{.count = count,
                                 .head_dim = call_.head_dim,
                                 .begin = begin,
                                 .end = end,
                                 .page = values(page),
                                 .ahead = values(ahead(page, first))};
    Tile::mix(tile, scores(page, first), contexts_ + first * context_stride_);
  }

  void finish(std::int32_t query) {
    const V sum = V::set(V::sum(V::load(sums_ + std::int64_t{query} * V::kLanes)));
    const float* context = contexts_ + query * context_stride_;
    float* out = call_.out + view_.out_offset(query);
    for (std::int32_t f = 0; f < call_.head_dim; f += V::kLanes) {
      const int n = call_.head_dim - f < V::kLanes ? call_.head_dim - f : V::kLanes;
      V::store(out + f, V::div(V::load(context + f), sum), n);
    }
  }

  const AttentionCall& call_;
  const AttentionView<V> view_;
  std::int32_t queries_;
  std::int64_t context_stride_;
  // Scratch: maxima and sums are [query][16], contexts [query][padded head_dim], scores
  // [page][query][64], packed queries [tile][head_dim][count].
  float* maxima_;
  float* sums_;
  float* contexts_;
  float* scores_;
  float* packed_;
};

// A table's kernels, in the order of the codecs.
template <typename V, typename Codecs>
struct AttentionKernels;
template <typename V, typename... Codec>
struct AttentionKernels<V, CodecList<Codec...>> {
  static constexpr AttentionKernel kAll[] = {
      {Codec::kName, &KvStore<V, Codec>::run, &Attention<V, Codec>::run}...};
};

}  // namespace verbatim
