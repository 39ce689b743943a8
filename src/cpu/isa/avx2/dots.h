// Products of unsigned and signed bytes by AVX2. VPMADDUBSW would saturate where two neighbouring
// products of large codes meet, so whole bytes are multiplied as words; halves of bytes are small.
#pragma once

#include "cpu/isa/avx2/dots_common.h"

namespace verbatim::avx2 {

// Codes below 128: no two products leave sixteen bits.
struct Vpmaddubsw {
  static __m256i add(__m256i sum, __m256i codes, __m256i in) {
    const __m256i pairs = _mm256_maddubs_epi16(codes, in);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};
struct HalfDots : ByteDots256<Isa, Vpmaddubsw> {
  // 8 sums, 2 halves of a line, an input, ones and products in 16 registers.
  static constexpr int kTileRows = 4;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 2;
};

struct Dots : Dots256<Isa> {
  // 8 sums, 4 quarters of a line and an input in 16 registers.
  static constexpr int kTileRows = 2;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 2;
  static constexpr int kFilterRows = 2;
  using Halves = HalfDots;

  // Quarters of four outputs; of a sum, two neighbouring parts each.
  struct Line {
    __m256i a, b, c, d;
  };
  struct Input {
    __m256i v;
  };
  struct Sum {
    __m256i a, b, c, d;
  };
  using Dots256<Isa>::store;

  static Line load(const std::byte* p) {
    return {wide(quarter(p)), wide(quarter(p + 16)), wide(quarter(p + 32)), wide(quarter(p + 48))};
  }
  static Line low_halves(const std::byte* p) {
    return {low(p), low(p + 16), low(p + 32), low(p + 48)};
  }
  static Line high_halves(const std::byte* p) {
    return {high(p), high(p + 16), high(p + 32), high(p + 48)};
  }
  static void store(std::byte* p, const Line& line) {
    narrow(p, line.a);
    narrow(p + 16, line.b);
    narrow(p + 32, line.c);
    narrow(p + 48, line.d);
  }
  static Input input(const std::int8_t* q) {
    return {_mm256_cvtepi8_epi16(_mm_set1_epi32(four(q)))};
  }

  static Sum start(std::int32_t from) {
    const __m256i v = _mm256_set1_epi64x(static_cast<std::uint32_t>(from));
    return {v, v, v, v};
  }
  static Sum start(const std::int32_t* from) {
    return {spread(from), spread(from + 4), spread(from + 8), spread(from + 12)};
  }
  static void add(Sum& sum, const Line& line, const Input& in) {
    sum.a = _mm256_add_epi32(sum.a, _mm256_madd_epi16(line.a, in.v));
    sum.b = _mm256_add_epi32(sum.b, _mm256_madd_epi16(line.b, in.v));
    sum.c = _mm256_add_epi32(sum.c, _mm256_madd_epi16(line.c, in.v));
    sum.d = _mm256_add_epi32(sum.d, _mm256_madd_epi16(line.d, in.v));
  }
  static Ints total(const Sum& sum) { return {joined(sum.a, sum.b), joined(sum.c, sum.d)}; }

 private:
  static __m128i quarter(const std::byte* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(p)));
  }
  static __m256i wide(__m128i bytes) { return _mm256_cvtepu8_epi16(bytes); }
  static __m256i low(const std::byte* p) {
    return wide(_mm_and_si128(quarter(p), _mm_set1_epi8(15)));
  }
  static __m256i high(const std::byte* p) {
    return wide(_mm_and_si128(_mm_srli_epi16(quarter(p), 4), _mm_set1_epi8(15)));
  }
  static void narrow(std::byte* p, __m256i words) {
    _mm_storeu_si128(
        static_cast<__m128i*>(static_cast<void*>(p)),
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }
  static __m256i spread(const std::int32_t* from) {
    const auto* four = static_cast<const __m128i*>(static_cast<const void*>(from));
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(four));
  }
  static __m256i joined(__m256i a, __m256i b) {
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8);
  }
};

}  // namespace verbatim::avx2
