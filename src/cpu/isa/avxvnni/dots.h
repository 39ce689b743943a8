// Products of unsigned and signed bytes by VPDPBUSD over 256 bits, as VEX encodes it.
#pragma once

#include "cpu/isa/avx2/dots_common.h"
#include "cpu/isa/avxvnni/lanes.h"

namespace verbatim::avxvnni {

struct Vpdpbusd {
  // g++ 12 wraps the intrinsic in register moves.
  static __m256i add(__m256i sum, __m256i codes, __m256i in) {
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(codes), "x"(in));
    return sum;
  }
};

struct Dots : ByteDots256<Isa, Vpdpbusd> {
  // 12 sums, 2 halves of a line and one input in 16 registers.
  static constexpr int kTileRows = 6;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 2;
  static constexpr int kFilterRows = 16;
  using Halves = Dots;
};

}  // namespace verbatim::avxvnni
