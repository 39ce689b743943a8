// Sixteen floats in an array: plain C++ that every machine runs, and the definition of what the
// other lanes must give.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor/half.h"

namespace verbatim::scalar {

struct Lanes {
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 4;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 1;

  float v[kLanes];

  static Lanes zero() { return set(0.0F); }
  static Lanes set(float a) {
    return each([a](int) { return a; });
  }
  static Lanes load(const float* p) {
    return each([p](int i) { return p[i]; });
  }
  static Lanes load(const float* p, int n) {
    return each([p, n](int i) { return i < n ? p[i] : 0.0F; });
  }
  static void store(float* p, Lanes a) { store(p, a, kLanes); }
  static void store(float* p, Lanes a, int n) {
    for (int i = 0; i < n; ++i) p[i] = a.v[i];
  }

  // A product in double, rounded once more, would not be the same: only a fused one is.
  static Lanes fma(Lanes a, Lanes b, Lanes c) {
    return each([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  static Lanes add(Lanes a, Lanes b) {
    return each([&](int i) { return a.v[i] + b.v[i]; });
  }
  static Lanes sub(Lanes a, Lanes b) {
    return each([&](int i) { return a.v[i] - b.v[i]; });
  }
  static Lanes mul(Lanes a, Lanes b) {
    return each([&](int i) { return a.v[i] * b.v[i]; });
  }
  static Lanes div(Lanes a, Lanes b) {
    return each([&](int i) { return a.v[i] / b.v[i]; });
  }
  static Lanes sqrt(Lanes a) {
    return each([&](int i) { return std::sqrt(a.v[i]); });
  }
  // A NaN on either side gives b.
  static Lanes max(Lanes a, Lanes b) {
    return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static Lanes min(Lanes a, Lanes b) {
    return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static Lanes neg(Lanes a) {
    return each([&](int i) { return -a.v[i]; });
  }
  static Lanes abs(Lanes a) {
    return each([&](int i) { return std::fabs(a.v[i]); });
  }
  // To the nearest integer, halves to even; -0.3 gives -0.
  static Lanes round(Lanes a) {
    constexpr float kWhole = 8388608.0F;  // 2^23: from here on floats are whole
    return each([&](int i) {
      const float magnitude = std::fabs(a.v[i]);
      if (!(magnitude < kWhole)) return a.v[i];
      return std::copysign((magnitude + kWhole) - kWhole, a.v[i]);
    });
  }
  // 2^n for a whole n in [-126, 127].
  static Lanes pow2(Lanes n) {
    return each([&](int i) {
      return std::bit_cast<float>((static_cast<std::int32_t>(n.v[i]) + 127) << 23);
    });
  }
  // a < b ? x : y.
  static Lanes select_less(Lanes a, Lanes b, Lanes x, Lanes y) {
    return each([&](int i) { return a.v[i] < b.v[i] ? x.v[i] : y.v[i]; });
  }

  static Lanes load_f16(const std::uint16_t* p) {
    return each([p](int i) { return from_f16(p[i]); });
  }
  static void store_f16(std::uint16_t* p, Lanes a) {
    for (int i = 0; i < kLanes; ++i) p[i] = to_f16(a.v[i]);
  }
  // Sixteen words that hold two bfloat16 each: the lower and the upper ones.
  static Lanes low_bf16(const std::uint32_t* p) {
    return each([p](int i) { return std::bit_cast<float>(p[i] << 16); });
  }
  static Lanes high_bf16(const std::uint32_t* p) {
    return each([p](int i) { return std::bit_cast<float>(p[i] & 0xffff0000U); });
  }

  // Sixteen words of eight codes of four bits: the code at kAt of each, as a signed number or as
  // what a book of sixteen values says.
  using Book = Lanes;
  static Book book(const float* values) { return load(values); }
  static Book signed_book() { return {}; }
  template <int kAt>
  static Lanes signed_nibble(const std::uint32_t* p, const Book&) {
    return each([p](int i) {
      return static_cast<float>(static_cast<std::int32_t>(p[i] << (28 - 4 * kAt)) >> 28);
    });
  }
  template <int kAt>
  static Lanes book_nibble(const std::uint32_t* p, const Book& book) {
    return each([p, &book](int i) { return book.v[(p[i] >> (4 * kAt)) & 15U]; });
  }
  static Lanes load_s8(const std::int8_t* p) {
    return each([p](int i) { return static_cast<float>(p[i]); });
  }

  // One fixed tree: lanes eight apart, then four, two and one.
  static float sum(Lanes a) {
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] += a.v[i + half];
    }
    return a.v[0];
  }
  static float max_of(Lanes a) {  // the same tree
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
    }
    return a.v[0];
  }

 private:
  template <typename Value>
  static Lanes each(const Value& value) {
    Lanes lanes{};
    for (int i = 0; i < kLanes; ++i) lanes.v[i] = value(i);
    return lanes;
  }
};

}  // namespace verbatim::scalar
