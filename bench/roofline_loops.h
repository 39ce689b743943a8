// The loops of roofline.h over one instruction set's lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/kernels/linear_tile.h"

namespace verbatim {

template <typename V>
std::int64_t fma_loop(std::int64_t rounds, float* values) {
  constexpr int kSums = V::kTileRows * V::kTilePanels;
  V sum[kSums];
  unroll<kSums>([&](auto i) {
    // Every lane differs, or the compiler would compute equal halves once.
    sum[decltype(i)::value] =
        V::mul(V::load(values), V::set(static_cast<float>(decltype(i)::value + 1)));
  });
  const V factor = V::set(values[V::kLanes]);
  const V term = V::set(values[V::kLanes + 1]);
  for (std::int64_t round = 0; round < rounds; ++round) {
    unroll<kSums>([&](auto i) {
      constexpr int kSum = decltype(i)::value;
      sum[kSum] = V::fma(factor, sum[kSum], term);
    });
  }
  V total = V::zero();
  unroll<kSums>([&](auto i) { total = V::add(total, sum[decltype(i)::value]); });
  values[0] = V::sum(total);
  return rounds * kSums * V::kLanes;
}

template <typename D>
std::int64_t dot_loop(std::int64_t rounds, std::byte* codes) {
  constexpr int kSums = D::kTileRows * D::kTilePanels;
  typename D::Sum sum[kSums];
  unroll<kSums>([&](auto i) { sum[decltype(i)::value] = D::start(decltype(i)::value); });
  const typename D::Line line = D::load(codes);
  const typename D::Input in =
      D::input(static_cast<const std::int8_t*>(static_cast<const void*>(codes + kLineBytes)));
  for (std::int64_t round = 0; round < rounds; ++round) {
    unroll<kSums>([&](auto i) { D::add(sum[decltype(i)::value], line, in); });
  }
  std::int32_t totals[kSums * 16];
  unroll<kSums>([&](auto i) {
    constexpr int kSum = decltype(i)::value;
    D::store(totals + kSum * 16, D::total(sum[kSum]));
  });
  for (int i = 0; i < kSums * 16; ++i) codes[0] ^= static_cast<std::byte>(totals[i]);
  return rounds * kSums * 64;
}

// Four streams, each fetched 1 KiB ahead: the fastest of those tried on the one kind of
// machine that was measured, an x86-64 with AVX-512.
template <typename V>
float read_loop(const std::byte* from, std::size_t bytes) {
  constexpr int kStreams = 4;
  constexpr int kAhead = 1024;
  V sum[kStreams];
  unroll<kStreams>([&](auto s) { sum[decltype(s)::value] = V::zero(); });
  const std::size_t stream_bytes = bytes / kStreams;
  for (std::size_t at = 0; at < stream_bytes; at += kLineBytes) {
    unroll<kStreams>([&](auto s) {
      const std::byte* line = from + decltype(s)::value * stream_bytes + at;
      __builtin_prefetch(line + kAhead, 0, 3);
      V& own = sum[decltype(s)::value];
      own = V::add(own, V::load(static_cast<const float*>(static_cast<const void*>(line))));
    });
  }
  V total = V::zero();
  unroll<kStreams>([&](auto s) { total = V::add(total, sum[decltype(s)::value]); });
  return V::sum(total);
}

}  // namespace verbatim
