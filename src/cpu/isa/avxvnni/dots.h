// Products of unsigned and signed bytes by VPDPBUSD over 256 bits, as VEX encodes it.
#pragma once

#include "cpu/isa/avx2/dots_common.h"
#include "cpu/isa/avxvnni/lanes.h"

namespace verbatim::avxvnni {

struct Dots : Dots256<Isa> {
  // 12 sums, 2 halves of a line and one input in 16 registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 2;
  static constexpr int kFilterRows = 16;

  struct Line {
    __m256i lo;
    __m256i hi;
  };
  struct Input {
    __m256i v;
  };
  using Sum = Ints;
  using Dots256<Isa>::store;

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
  static Input input(const std::int8_t* q) { return {_mm256_set1_epi32(four(q))}; }

  static Sum start(std::int32_t from) { return {_mm256_set1_epi32(from), _mm256_set1_epi32(from)}; }
  static Sum start(const std::int32_t* from) { return {load_ints(from), load_ints(from + 8)}; }
  static void add(Sum& sum, const Line& line, const Input& in) {
    sum.lo = dot(sum.lo, line.lo, in.v);
    sum.hi = dot(sum.hi, line.hi, in.v);
  }
  static Ints total(const Sum& sum) { return sum; }

 private:
  static __m256i bytes(const std::byte* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(static_cast<const void*>(p)));
  }
  // g++ 12 wraps the intrinsic in register moves.
  static __m256i dot(__m256i sum, __m256i codes, __m256i in) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(codes), "x"(in));
    return sum;
  }
};

}  // namespace verbatim::avxvnni
