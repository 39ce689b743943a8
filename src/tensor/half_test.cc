// Every half, and every rounding between two of them, against their definitions.
#include "tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace verbatim {
namespace {

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// What the sixteen bits mean, by IEEE 754; not for NaN.
double meaning_f16(std::uint32_t half) {
  const double sign = (half & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((half >> 10) & 31U);
  const int mantissa = static_cast<int>(half & 0x3ffU);
  if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(Half, EveryF16MeansWhatIeeeSays) {
  for (std::uint32_t half = 0; half < 0x10000U; ++half) {
    const float value = from_f16(static_cast<std::uint16_t>(half));
    if ((half & 0x7fffU) > 0x7c00U) {
      ASSERT_TRUE(std::isnan(value)) << half;
      ASSERT_EQ(bits_of(value) >> 31, half >> 15);
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), meaning_f16(half)) << half;
    ASSERT_EQ(bits_of(value) >> 31, half >> 15) << half;  // zeros have signs
  }
}

TEST(Half, EveryF16SurvivesTheRoundTrip) {
  for (std::uint32_t half = 0; half < 0x10000U; ++half) {
    const std::uint16_t back = to_f16(from_f16(static_cast<std::uint16_t>(half)));
    const bool nan = (half & 0x7fffU) > 0x7c00U;
    ASSERT_EQ(back, nan ? (half | 0x200U) : half);  // a NaN is quiet and stays one
  }
}

TEST(Half, EveryBf16IsTheFrontOfAFloat) {
  for (std::uint32_t half = 0; half < 0x10000U; ++half) {
    const float value = from_bf16(static_cast<std::uint16_t>(half));
    ASSERT_EQ(bits_of(value), half << 16);
    const bool nan = (half & 0x7fffU) > 0x7f80U;
    ASSERT_EQ(to_bf16(value), nan ? (half | 0x40U) : half);
  }
}

TEST(Half, ATieGoesToTheEvenF16AndTheRestToTheNearest) {
  for (std::uint32_t half = 0; half < 0x7c00U; ++half) {
    const double below = meaning_f16(half);
    // The largest half's upper neighbour would be 65536.
    const double above = half == 0x7bffU ? 65536.0 : meaning_f16(half + 1);
    const auto middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2);
    const float less = std::nextafter(middle, 0.0F);
    const float more = std::nextafter(middle, std::numeric_limits<float>::infinity());
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const float side = sign == 0 ? 1.0F : -1.0F;
      ASSERT_EQ(to_f16(side * middle), sign | (half + (half & 1U))) << half;
      ASSERT_EQ(to_f16(side * less), sign | half) << half;
      ASSERT_EQ(to_f16(side * more), sign | (half + 1)) << half;
    }
  }
}

TEST(Half, ATieGoesToTheEvenBf16AndTheRestToTheNearest) {
  for (std::uint32_t half = 0; half < 0x10000U; ++half) {
    if ((half & 0x7fffU) >= 0x7f80U) continue;
    const std::uint32_t middle = (half << 16) | 0x8000U;
    ASSERT_EQ(to_bf16(std::bit_cast<float>(middle)), half + (half & 1U));
    ASSERT_EQ(to_bf16(std::bit_cast<float>(middle - 1)), half);
    ASSERT_EQ(to_bf16(std::bit_cast<float>(middle + 1)), half + 1);
  }
}

TEST(Half, WhatIsTooLargeOrTooSmallIsInfinityOrZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_f16(65519.996F), 0x7bffU);
  EXPECT_EQ(to_f16(65520.0F), 0x7c00U);
  EXPECT_EQ(to_f16(-1e30F), 0xfc00U);
  EXPECT_EQ(to_f16(infinity), 0x7c00U);
  EXPECT_EQ(to_f16(-0.0F), 0x8000U);
  EXPECT_EQ(to_f16(std::numeric_limits<float>::denorm_min()), 0U);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::denorm_min()), 0x8000U);
  EXPECT_EQ(to_bf16(infinity), 0x7f80U);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80U);
  EXPECT_EQ(to_bf16(-0.0F), 0x8000U);
}

TEST(Half, ANanNeverTurnsIntoInfinity) {
  for (std::uint32_t low = 1; low != 0; low <<= 1) {
    if (low > 0x7fffffU) break;
    const float nan = std::bit_cast<float>(0x7f800000U | low);
    EXPECT_GT(to_f16(nan) & 0x7fffU, 0x7c00U) << low;
    EXPECT_GT(to_bf16(nan) & 0x7fffU, 0x7f80U) << low;
  }
}

#if defined(__x86_64__)
TEST(Half, FlushedDenormalsOfFloatsChangeNoBit) {
  std::thread([] {
    _mm_setcsr(_mm_getcsr() | 0x8040U);
    for (std::uint32_t half = 0; half < 0x10000U; ++half) {
      const auto bits = static_cast<std::uint16_t>(half);
      if ((half & 0x7fffU) <= 0x7c00U) {
        ASSERT_EQ(to_f16(from_f16(bits)), half);
      }
      if ((half & 0x7fffU) <= 0x7f80U) {
        ASSERT_EQ(to_bf16(from_bf16(bits)), half);
      }
    }
  }).join();
}
#endif

}  // namespace
}  // namespace verbatim
