// The ceilings of the avx2 lanes. That of byte products is VPMADDUBSW, VPMADDWD and VPADDD, with no
// care for saturation: the fastest there is, which the kernels' own products of words do not reach.
#include <immintrin.h>

#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/avx2/lanes.h"

namespace verbatim::avx2 {
namespace {

std::int64_t byte_loop(std::int64_t rounds, std::byte* codes) {
  constexpr int kSums = 8;
  const auto* vectors = static_cast<const __m256i*>(static_cast<const void*>(codes));
  __m256i line = _mm256_loadu_si256(vectors);
  const __m256i in = _mm256_loadu_si256(vectors + 1);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum[kSums];
  unroll<kSums>([&](auto i) { sum[decltype(i)::value] = _mm256_set1_epi32(decltype(i)::value); });
  for (std::int64_t round = 0; round < rounds; ++round) {
    unroll<kSums>([&](auto i) {
      // Or the compiler would multiply once and add for ever.
      __asm__("" : "+x"(line));
      const __m256i pairs = _mm256_maddubs_epi16(line, in);
      __m256i& own = sum[decltype(i)::value];
      own = _mm256_add_epi32(own, _mm256_madd_epi16(pairs, ones));
    });
  }
  __m256i total = _mm256_setzero_si256();
  unroll<kSums>([&](auto i) { total = _mm256_xor_si256(total, sum[decltype(i)::value]); });
  codes[0] ^= static_cast<std::byte>(_mm256_extract_epi8(total, 0));
  return rounds * kSums * 32;
}

}  // namespace

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"avx2", &fma_loop<Lanes>, &byte_loop, &read_loop<Lanes>};

}  // namespace verbatim::avx2
