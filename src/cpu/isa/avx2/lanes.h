// Sixteen floats in two AVX2 registers. Needs AVX2, FMA and F16C.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace verbatim {

// Isa: a type in the namespace of the set that this is compiled for, so that sets which share these
// lanes share no code.
template <typename Isa>
struct Lanes256 {
  using Lanes = Lanes256;
  static constexpr int kLanes = 16;
  // Tile sizes of the projections: 12 sums, 2 halves of a column and one broadcast in 16 registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 5;

  __m256 lo;
  __m256 hi;

  static Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Lanes set(float a) { return {_mm256_set1_ps(a), _mm256_set1_ps(a)}; }
  static Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Lanes load(const float* p, int n) {
    const __m256 lo = _mm256_maskload_ps(p, first(n));
    return {lo, n > 8 ? _mm256_maskload_ps(p + 8, first(n - 8)) : _mm256_setzero_ps()};
  }
  static void store(float* p, Lanes a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
  }
  static void store(float* p, Lanes a, int n) {
    _mm256_maskstore_ps(p, first(n), a.lo);
    if (n > 8) _mm256_maskstore_ps(p + 8, first(n - 8), a.hi);
  }

  static Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static Lanes add(Lanes a, Lanes b) {
    return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
  }
  static Lanes sub(Lanes a, Lanes b) {
    return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
  }
  static Lanes mul(Lanes a, Lanes b) {
    return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
  }
  static Lanes div(Lanes a, Lanes b) {
    return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
  }
  static Lanes sqrt(Lanes a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
  static Lanes max(Lanes a, Lanes b) {  // a > b ? a : b
    return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
  }
  static Lanes min(Lanes a, Lanes b) {  // a < b ? a : b
    return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
  }
  static Lanes neg(Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_xor_ps(a.lo, sign), _mm256_xor_ps(a.hi, sign)};
  }
  static Lanes abs(Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
  }
  // To the nearest integer, halves to even.
  static Lanes round(Lanes a) {
    return {_mm256_round_ps(a.lo, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(a.hi, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // 2^n for a whole n in [-126, 127].
  static Lanes pow2(Lanes n) { return {exponent(n.lo), exponent(n.hi)}; }
  // a < b ? x : y.
  static Lanes select_less(Lanes a, Lanes b, Lanes x, Lanes y) {
    return {_mm256_blendv_ps(y.lo, x.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
            _mm256_blendv_ps(y.hi, x.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
  }

  static Lanes load_f16(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(at(p))), _mm256_cvtph_ps(_mm_loadu_si128(at(p + 8)))};
  }
  static void store_f16(std::uint16_t* p, Lanes a) {  // rounded to nearest even, as to_f16
    auto* to = static_cast<__m128i*>(static_cast<void*>(p));
    _mm_storeu_si128(to, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(to + 1, _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
  }
  // Sixteen words that hold two bfloat16 each: the lower and the upper ones.
  static Lanes low_bf16(const std::uint32_t* p) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(words(p), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(words(p + 8), 16))};
  }
  static Lanes high_bf16(const std::uint32_t* p) {
    const __m256i mask = _mm256_set1_epi32(-0x10000);
    return {_mm256_castsi256_ps(_mm256_and_si256(words(p), mask)),
            _mm256_castsi256_ps(_mm256_and_si256(words(p + 8), mask))};
  }

  // Sixteen words of eight codes of four bits: the code at kAt of each, as a signed number or as
  // what a book of sixteen values says. A permutation looks at the lowest three bits of an index.
  using Book = Lanes;
  static Book book(const float* values) { return load(values); }
  static Book signed_book() { return zero(); }
  template <int kAt>
  static Lanes signed_nibble(const std::uint32_t* p, const Book&) {
    return {signed_bits<kAt>(words(p)), signed_bits<kAt>(words(p + 8))};
  }
  template <int kAt>
  static Lanes book_nibble(const std::uint32_t* p, const Book& book) {
    return {looked_up<kAt>(words(p), book), looked_up<kAt>(words(p + 8), book)};
  }
  static Lanes load_s8(const std::int8_t* p) { return {eight(p), eight(p + 8)}; }

  // One fixed tree: lanes eight apart, then four, two and one.
  static float sum(Lanes a) {
    const __m256 by8 = _mm256_add_ps(a.lo, a.hi);
    const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
    const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
    return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
  }
  static float max_of(Lanes a) {  // the same tree
    const __m256 by8 = _mm256_max_ps(a.lo, a.hi);
    const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
    const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
    return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
  }

 private:
  static __m256i first(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m256 exponent(__m256 n) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
  }
  static const __m128i* at(const std::uint16_t* p) {
    return static_cast<const __m128i*>(static_cast<const void*>(p));
  }
  static __m256i words(const std::uint32_t* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(p)));
  }
  template <int kAt>
  static __m256 signed_bits(__m256i words) {
    const __m256i top = kAt == 7 ? words : _mm256_slli_epi32(words, 28 - 4 * kAt);
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(top, 28));
  }
  template <int kAt>
  static __m256 looked_up(__m256i words, const Lanes& book) {
    const __m256i index = kAt == 0 ? words : _mm256_srli_epi32(words, 4 * kAt);
    const __m256i top = kAt == 7 ? words : _mm256_slli_epi32(words, 28 - 4 * kAt);
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(book.lo, index),
                            _mm256_permutevar8x32_ps(book.hi, index), _mm256_castsi256_ps(top));
  }
  static __m256 eight(const std::int8_t* p) {
    const auto* bytes = static_cast<const __m128i*>(static_cast<const void*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(bytes)));
  }
};

namespace avx2 {
struct Isa;
using Lanes = Lanes256<Isa>;
}  // namespace avx2

}  // namespace verbatim
