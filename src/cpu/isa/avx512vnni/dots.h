// Products of unsigned and signed bytes by VPDPBUSD over 512 bits.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/isa/avx512vnni/lanes.h"

namespace verbatim::avx512vnni {

struct Dots {
  // 24 sums, 4 lines and one input in 32 registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTilePanels = 4;
  static constexpr int kStreamSums = 16;
  static constexpr int kFilterRows = 16;
  using Halves = Dots;

  struct Line {
    __m512i v;
  };
  struct Input {
    __m512i v;
  };
  struct Ints {
    __m512i v;
  };
  using Sum = Ints;

  static Line load(const std::byte* p) { return {_mm512_loadu_si512(p)}; }
  static Line low_halves(const std::byte* p) {
    return {_mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(15))};
  }
  static Line high_halves(const std::byte* p) {
    return {_mm512_and_si512(_mm512_srli_epi16(_mm512_loadu_si512(p), 4), _mm512_set1_epi8(15))};
  }
  static void store(std::byte* p, const Line& line) { _mm512_storeu_si512(p, line.v); }
  static Input input(const std::int8_t* q) {
    std::int32_t four = 0;
    std::memcpy(&four, q, sizeof four);
    return {_mm512_set1_epi32(four)};
  }

  static Sum start(std::int32_t from) { return {_mm512_set1_epi32(from)}; }
  static Sum start(const std::int32_t* from) { return {_mm512_loadu_si512(from)}; }
  // g++ 12 wraps the intrinsic in two register moves, which halves the speed of a tile.
  static void add(Sum& sum, const Line& line, const Input& in) {
    __m512i v = sum.v;
    __asm__("vpdpbusd %2, %1, %0" : "+v"(v) : "v"(line.v), "v"(in.v));
    sum.v = v;
  }
  static Ints total(const Sum& sum) { return sum; }
  static Ints minus(const Ints& a, const std::int32_t* b, std::int32_t factor) {
    const __m512i product = _mm512_mullo_epi32(_mm512_loadu_si512(b), _mm512_set1_epi32(factor));
    return {_mm512_sub_epi32(a.v, product)};
  }
  static void store(std::int32_t* to, const Ints& a) { _mm512_storeu_si512(to, a.v); }
  static Lanes floats(const Ints& a) { return {_mm512_cvtepi32_ps(a.v)}; }

  static void store_codes(std::int8_t* to, const Lanes& codes) {
    auto* bytes = static_cast<__m128i*>(static_cast<void*>(to));
    _mm_storeu_si128(bytes, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(codes.v)));
  }
};

}  // namespace verbatim::avx512vnni
