// Sixteen floats in one AVX-512 register. Needs F, BW, DQ and VL.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace verbatim {

// Isa: a type in the namespace of the set that this is compiled for, so that sets which share these
// lanes share no code.
template <typename Isa>
struct Lanes512 {
  using Lanes = Lanes512;
  static constexpr int kLanes = 16;
  // Tile sizes of the projections: 26 sums, 2 columns and one broadcast in 32 registers.
  static constexpr int kTileRows = 13;
  static constexpr int kTilePanels = 2;
  static constexpr int kStreamSums = 16;

  __m512 v;

  static Lanes zero() { return {_mm512_setzero_ps()}; }
  static Lanes set(float a) { return {_mm512_set1_ps(a)}; }
  static Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Lanes load(const float* p, int n) { return {_mm512_maskz_loadu_ps(first(n), p)}; }
  static void store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
  static void store(float* p, Lanes a, int n) { _mm512_mask_storeu_ps(p, first(n), a.v); }

  static Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static Lanes add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
  static Lanes sub(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
  static Lanes mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static Lanes div(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
  static Lanes sqrt(Lanes a) { return {_mm512_sqrt_ps(a.v)}; }
  static Lanes max(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }  // a > b ? a : b
  static Lanes min(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }  // a < b ? a : b
  static Lanes neg(Lanes a) { return {_mm512_xor_ps(a.v, _mm512_set1_ps(-0.0F))}; }
  static Lanes abs(Lanes a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0F), a.v)}; }
  // To the nearest integer, halves to even.
  static Lanes round(Lanes a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // 2^n for a whole n in [-126, 127].
  static Lanes pow2(Lanes n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n.v), _mm512_set1_epi32(127));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23))};
  }
  // a < b ? x : y.
  static Lanes select_less(Lanes a, Lanes b, Lanes x, Lanes y) {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), y.v, x.v)};
  }

  static Lanes load_f16(const std::uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(at(p)))};
  }
  static void store_f16(std::uint16_t* p, Lanes a) {  // rounded to nearest even, as to_f16
    _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(p)),
                        _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  // Sixteen words that hold two bfloat16 each: the lower and the upper ones.
  static Lanes low_bf16(const std::uint32_t* p) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16))};
  }
  static Lanes high_bf16(const std::uint32_t* p) {
    return {
        _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi32(-0x10000)))};
  }

  // Sixteen words of eight codes of four bits: the code at kAt of each, as a signed number or as
  // what a book of sixteen values says. A permutation looks at the lowest four bits of an index.
  using Book = Lanes;
  static Book book(const float* values) { return load(values); }
  static Book signed_book() {
    return {_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1)};
  }
  template <int kAt>
  static Lanes book_nibble(const std::uint32_t* p, const Book& book) {
    const __m512i words = _mm512_loadu_si512(p);
    return {_mm512_permutexvar_ps(kAt == 0 ? words : _mm512_srli_epi32(words, 4 * kAt), book.v)};
  }
  template <int kAt>
  static Lanes signed_nibble(const std::uint32_t* p, const Book& book) {
    return book_nibble<kAt>(p, book);
  }
  static Lanes load_s8(const std::int8_t* p) {
    const auto* bytes = static_cast<const __m128i*>(static_cast<const void*>(p));
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes)))};
  }

  // One fixed tree: lanes eight apart, then four, two and one.
  static float sum(Lanes a) {
    const __m256 by8 = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    const __m128 by4 = _mm_add_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
    const __m128 by2 = _mm_add_ps(by4, _mm_movehl_ps(by4, by4));
    return _mm_cvtss_f32(_mm_add_ss(by2, _mm_movehdup_ps(by2)));
  }
  static float max_of(Lanes a) {  // the same tree
    const __m256 by8 = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    const __m128 by4 = _mm_max_ps(_mm256_castps256_ps128(by8), _mm256_extractf128_ps(by8, 1));
    const __m128 by2 = _mm_max_ps(by4, _mm_movehl_ps(by4, by4));
    return _mm_cvtss_f32(_mm_max_ss(by2, _mm_movehdup_ps(by2)));
  }

 private:
  static __mmask16 first(int n) { return static_cast<__mmask16>((1U << n) - 1U); }
  static const __m256i* at(const std::uint16_t* p) {
    return static_cast<const __m256i*>(static_cast<const void*>(p));
  }
};

namespace avx512 {
struct Isa;
using Lanes = Lanes512<Isa>;
}  // namespace avx512

}  // namespace verbatim
