// What the dots of the 256-bit sets share: bytes in two registers and integers in two.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/isa/avx2/lanes.h"

namespace verbatim {

template <typename Isa>
struct Dots256 {
  struct Ints {
    __m256i lo;
    __m256i hi;
  };

  static Ints minus(const Ints& a, const std::int32_t* b, std::int32_t factor) {
    const __m256i by = _mm256_set1_epi32(factor);
    return {_mm256_sub_epi32(a.lo, _mm256_mullo_epi32(load_ints(b), by)),
            _mm256_sub_epi32(a.hi, _mm256_mullo_epi32(load_ints(b + 8), by))};
  }
  static void store(std::int32_t* to, const Ints& a) {
    _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(to)), a.lo);
    _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(to + 8)), a.hi);
  }
  static Lanes256<Isa> floats(const Ints& a) {
    return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)};
  }
  static void store_codes(std::int8_t* to, const Lanes256<Isa>& codes) {
    const __m256i lo = _mm256_cvtps_epi32(codes.lo);
    const __m256i hi = _mm256_cvtps_epi32(codes.hi);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8);
    _mm_storeu_si128(
        static_cast<__m128i*>(static_cast<void*>(to)),
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }

  static __m256i load_ints(const std::int32_t* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(p)));
  }
  static std::int32_t four(const std::int8_t* q) {
    std::int32_t four = 0;
    std::memcpy(&four, q, sizeof four);
    return four;
  }
};

// Lines as they lie, in two registers of eight outputs each. Dot::add(sum, codes, in): four
// products of bytes for each of eight sums.
template <typename Isa, typename Dot>
struct ByteDots256 : Dots256<Isa> {
  struct Line {
    __m256i lo;
    __m256i hi;
  };
  struct Input {
    __m256i v;
  };
  using Base = Dots256<Isa>;
  using Ints = typename Base::Ints;
  using Sum = Ints;
  using Base::store;

  static Line load(const std::byte* p) { return {bytes(p), bytes(p + 32)}; }
  static Line low_halves(const std::byte* p) {
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(bytes(p), mask), _mm256_and_si256(bytes(p + 32), mask)};
  }
  static Line high_halves(const std::byte* p) {
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(_mm256_srli_epi16(bytes(p), 4), mask),
            _mm256_and_si256(_mm256_srli_epi16(bytes(p + 32), 4), mask)};
  }
  static void store(std::byte* p, const Line& line) {
    _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(p)), line.lo);
    _mm256_storeu_si256(static_cast<__m256i*>(static_cast<void*>(p + 32)), line.hi);
  }
  static Input input(const std::int8_t* q) { return {_mm256_set1_epi32(Base::four(q))}; }

  static Sum start(std::int32_t from) { return {_mm256_set1_epi32(from), _mm256_set1_epi32(from)}; }
  static Sum start(const std::int32_t* from) {
    return {Base::load_ints(from), Base::load_ints(from + 8)};
  }
  static void add(Sum& sum, const Line& line, const Input& in) {
    sum.lo = Dot::add(sum.lo, line.lo, in.v);
    sum.hi = Dot::add(sum.hi, line.hi, in.v);
  }
  static Ints total(const Sum& sum) { return sum; }

 private:
  static __m256i bytes(const std::byte* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(p)));
  }
};

}  // namespace verbatim
