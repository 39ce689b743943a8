// Sixteen floats in four NEON registers. Needs nothing beyond armv8-a.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace verbatim::neon {

struct Lanes {
  static constexpr int kLanes = 16;
  // Tile sizes of the projections: 24 sums, 4 quarters of a column and one broadcast in 32.
  static constexpr int kTileRows = 6;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 6;

  float32x4_t a;
  float32x4_t b;
  float32x4_t c;
  float32x4_t d;

  static Lanes zero() { return set(0.0F); }
  static Lanes set(float x) {
    const float32x4_t v = vdupq_n_f32(x);
    return {v, v, v, v};
  }
  static Lanes load(const float* p) {
    return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
  }
  static Lanes load(const float* p, int n) {
    float whole[kLanes] = {};
    for (int i = 0; i < n; ++i) whole[i] = p[i];
    return load(whole);
  }
  static void store(float* p, Lanes x) {
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
    vst1q_f32(p + 8, x.c);
    vst1q_f32(p + 12, x.d);
  }
  static void store(float* p, Lanes x, int n) {
    float whole[kLanes];
    store(whole, x);
    for (int i = 0; i < n; ++i) p[i] = whole[i];
  }

  static Lanes fma(Lanes x, Lanes y, Lanes z) {
    return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
            vfmaq_f32(z.d, x.d, y.d)};
  }
  static Lanes add(Lanes x, Lanes y) {
    return {vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b), vaddq_f32(x.c, y.c), vaddq_f32(x.d, y.d)};
  }
  static Lanes sub(Lanes x, Lanes y) {
    return {vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b), vsubq_f32(x.c, y.c), vsubq_f32(x.d, y.d)};
  }
  static Lanes mul(Lanes x, Lanes y) {
    return {vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b), vmulq_f32(x.c, y.c), vmulq_f32(x.d, y.d)};
  }
  static Lanes div(Lanes x, Lanes y) {
    return {vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b), vdivq_f32(x.c, y.c), vdivq_f32(x.d, y.d)};
  }
  static Lanes sqrt(Lanes x) {
    return {vsqrtq_f32(x.a), vsqrtq_f32(x.b), vsqrtq_f32(x.c), vsqrtq_f32(x.d)};
  }
  // x > y ? x : y as x86 has it: FMAX would let a NaN through from either side.
  static Lanes max(Lanes x, Lanes y) { return select_less(y, x, x, y); }
  static Lanes min(Lanes x, Lanes y) { return select_less(x, y, x, y); }
  static Lanes neg(Lanes x) {
    return {vnegq_f32(x.a), vnegq_f32(x.b), vnegq_f32(x.c), vnegq_f32(x.d)};
  }
  static Lanes abs(Lanes x) {
    return {vabsq_f32(x.a), vabsq_f32(x.b), vabsq_f32(x.c), vabsq_f32(x.d)};
  }
  // To the nearest integer, halves to even.
  static Lanes round(Lanes x) {
    return {vrndnq_f32(x.a), vrndnq_f32(x.b), vrndnq_f32(x.c), vrndnq_f32(x.d)};
  }
  // 2^n for a whole n in [-126, 127].
  static Lanes pow2(Lanes n) {
    return {exponent(n.a), exponent(n.b), exponent(n.c), exponent(n.d)};
  }
  // x < y ? p : q.
  static Lanes select_less(Lanes x, Lanes y, Lanes p, Lanes q) {
    return {vbslq_f32(vcltq_f32(x.a, y.a), p.a, q.a), vbslq_f32(vcltq_f32(x.b, y.b), p.b, q.b),
            vbslq_f32(vcltq_f32(x.c, y.c), p.c, q.c), vbslq_f32(vcltq_f32(x.d, y.d), p.d, q.d)};
  }

  static Lanes load_f16(const std::uint16_t* p) {
    return {half(p), half(p + 4), half(p + 8), half(p + 12)};
  }
  static void store_f16(std::uint16_t* p, Lanes x) {  // rounded to nearest even, as to_f16
    vst1_u16(p, narrow(x.a));
    vst1_u16(p + 4, narrow(x.b));
    vst1_u16(p + 8, narrow(x.c));
    vst1_u16(p + 12, narrow(x.d));
  }
  // Sixteen words that hold two bfloat16 each: the lower and the upper ones.
  static Lanes low_bf16(const std::uint32_t* p) {
    return {low(p), low(p + 4), low(p + 8), low(p + 12)};
  }
  static Lanes high_bf16(const std::uint32_t* p) {
    return {high(p), high(p + 4), high(p + 8), high(p + 12)};
  }

  // Sixteen words of eight codes of four bits: the code at kAt of each, as a signed number or as
  // what a book of sixteen values says.
  struct Book {
    uint8x16x4_t bytes;
  };
  static Book book(const float* values) {
    return {{{vreinterpretq_u8_f32(vld1q_f32(values)), vreinterpretq_u8_f32(vld1q_f32(values + 4)),
              vreinterpretq_u8_f32(vld1q_f32(values + 8)),
              vreinterpretq_u8_f32(vld1q_f32(values + 12))}}};
  }
  static Book signed_book() { return {}; }
  template <int kAt>
  static Lanes signed_nibble(const std::uint32_t* p, const Book&) {
    return {signed_bits<kAt>(p), signed_bits<kAt>(p + 4), signed_bits<kAt>(p + 8),
            signed_bits<kAt>(p + 12)};
  }
  template <int kAt>
  static Lanes book_nibble(const std::uint32_t* p, const Book& book) {
    return {looked_up<kAt>(p, book), looked_up<kAt>(p + 4, book), looked_up<kAt>(p + 8, book),
            looked_up<kAt>(p + 12, book)};
  }
  static Lanes load_s8(const std::int8_t* p) {
    const int8x16_t bytes = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
    const int16x8_t high = vmovl_s8(vget_high_s8(bytes));
    return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))),
            vcvtq_f32_s32(vmovl_s16(vget_high_s16(low))),
            vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))),
            vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)))};
  }

  // One fixed tree: lanes eight apart, then four, two and one.
  static float sum(Lanes x) {
    const float32x4_t by4 = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
    const float32x2_t by2 = vadd_f32(vget_low_f32(by4), vget_high_f32(by4));
    return vget_lane_f32(by2, 0) + vget_lane_f32(by2, 1);
  }
  static float max_of(Lanes x) {  // the same tree
    const float32x4_t by4 = larger(larger(x.a, x.c), larger(x.b, x.d));
    const float32x4_t by2 = larger(by4, vextq_f32(by4, by4, 2));
    const float first = vgetq_lane_f32(by2, 0);
    const float second = vgetq_lane_f32(by2, 1);
    return first > second ? first : second;
  }

 private:
  static float32x4_t larger(float32x4_t x, float32x4_t y) {
    return vbslq_f32(vcgtq_f32(x, y), x, y);
  }
  static float32x4_t exponent(float32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
  }
  static float32x4_t half(const std::uint16_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
  }
  static uint16x4_t narrow(float32x4_t x) { return vreinterpret_u16_f16(vcvt_f16_f32(x)); }
  static float32x4_t low(const std::uint32_t* p) {
    return vreinterpretq_f32_u32(vshlq_n_u32(vld1q_u32(p), 16));
  }
  static float32x4_t high(const std::uint32_t* p) {
    return vreinterpretq_f32_u32(vandq_u32(vld1q_u32(p), vdupq_n_u32(0xffff0000U)));
  }
  template <int kAt>
  static float32x4_t signed_bits(const std::uint32_t* p) {
    const int32x4_t top = vreinterpretq_s32_u32(vshlq_n_u32(vld1q_u32(p), 28 - 4 * kAt));
    return vcvtq_f32_s32(vshrq_n_s32(top, 28));
  }
  template <int kAt>
  static float32x4_t looked_up(const std::uint32_t* p, const Book& book) {
    const uint32x4_t words = vld1q_u32(p);
    const uint32x4_t top = vshlq_n_u32(words, 28 - 4 * kAt);
    // Byte b of value c lies at 4 c + b.
    const uint32x4_t places =
        vmlaq_n_u32(vdupq_n_u32(0x03020100U), vshrq_n_u32(top, 28), 0x04040404U);
    return vreinterpretq_f32_u8(vqtbl4q_u8(book.bytes, vreinterpretq_u8_u32(places)));
  }
};

}  // namespace verbatim::neon
