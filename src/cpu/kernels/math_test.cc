// exp, SiLU and GELU against double, and the same bits from every table. The tables show SiLU as
// swiglu with an `up` of one, and GELU behind a projection whose sums are its weights.
#include "cpu/kernels/math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "cpu/isa/scalar/lanes.h"
#include "cpu/kernels/kernel_test.h"
#include "tensor/tensor.h"
#include "weights/format.h"

namespace verbatim {
namespace {

using Lanes = scalar::Lanes;

template <typename F>
float one(F function, float x) {
  float out[Lanes::kLanes];
  Lanes::store(out, function(Lanes::set(x)));
  return out[0];
}
float exp_of(float x) {
  return one([](Lanes v) { return exp<Lanes>(v); }, x);
}
float silu_of(float x) {
  return one([](Lanes v) { return silu<Lanes>(v); }, x);
}
float gelu_of(float x) {
  return one([](Lanes v) { return gelu<Lanes>(v); }, x);
}

// Floats from `from` to `to` (same sign), evenly by their bits.
std::vector<float> sweep(float from, float to, int count) {
  const auto first = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(from));
  const auto last = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(to));
  std::vector<float> made;
  for (int i = 0; i <= count; ++i) {
    made.push_back(std::bit_cast<float>(
        static_cast<std::uint32_t>(first + (last - first) * i / std::int64_t{count})));
  }
  return made;
}

double ulps(double found, double expected) {
  const int exponent = std::max(std::ilogb(expected), -126);
  return std::fabs(found - expected) / std::ldexp(1.0, exponent - 23);
}

// erfc(z) / 2 without cancellation: where z is large, its continued fraction.
double half_erfc(double z) {
  if (z < 2.0) return 0.5 - 0.5 * math_erf(z);
  double fraction = z;
  for (int k = 80; k > 0; --k) fraction = z + 0.5 * k / fraction;
  return 0.5 * math_exp(-z * z) / (fraction * 1.7724538509055160273);
}
double exact_gelu(double x) {
  return x * half_erfc(-x * 0.70710678118654752440);
}

TEST(KernelMath, ExpIsWithinOneUlpDownToTheSmallestNormal) {
  double worst = 0;
  for (const float x : sweep(-1e-9F, -87.336F, 200000)) {
    worst = std::max(worst, ulps(static_cast<double>(exp_of(x)), math_exp(static_cast<double>(x))));
  }
  for (const float x : sweep(1e-9F, 88.0F, 50000)) {
    worst = std::max(worst, ulps(static_cast<double>(exp_of(x)), math_exp(static_cast<double>(x))));
  }
  EXPECT_LE(worst, 1.0);
}

TEST(KernelMath, ExpIsExactlyOneAtZeroAndZeroBelowTheNormalRange) {
  EXPECT_EQ(exp_of(0.0F), 1.0F);
  EXPECT_EQ(exp_of(-0.0F), 1.0F);
  for (const float x : {-87.3366F, -88.0F, -104.0F, -1e4F, -3e38F, -HUGE_VALF}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(exp_of(x)), 0U) << x;
  }
  for (const float x : sweep(-87.0F, -90.0F, 20000)) {
    const float e = exp_of(x);
    EXPECT_TRUE(e == 0.0F || std::isnormal(e)) << x;
  }
  EXPECT_TRUE(std::isnan(exp_of(NAN)));
}

TEST(KernelMath, ExpIsZeroBelowTheCallersFloor) {
  const auto floored = [](Lanes v) { return exp<Lanes>(v, -64.0F); };
  EXPECT_EQ(one(floored, -64.0F), exp_of(-64.0F));
  EXPECT_GT(exp_of(-64.0F), 0.0F);
  EXPECT_EQ(one(floored, std::nextafter(-64.0F, -100.0F)), 0.0F);
}

TEST(KernelMath, SiluIsWithinThreeUlpsInBothTails) {
  double worst = 0;
  for (const float end : {-87.0F, 1e4F}) {
    for (const float x : sweep(std::copysign(1e-20F, end), end, 100000)) {
      const double exact = static_cast<double>(x) / (1.0 + math_exp(-static_cast<double>(x)));
      worst = std::max(worst, ulps(static_cast<double>(silu_of(x)), exact));
    }
  }
  EXPECT_LE(worst, 3.0);
  EXPECT_EQ(silu_of(-1e4F), 0.0F);
  EXPECT_EQ(silu_of(1e30F), 1e30F);
}

TEST(KernelMath, GeluIsWithinTwoTenMillionths) {
  double worst = 0;
  for (const float end : {-100.0F, 100.0F}) {
    for (const float x : sweep(std::copysign(1e-20F, end), end, 200000)) {
      const double error = static_cast<double>(gelu_of(x)) - exact_gelu(static_cast<double>(x));
      worst = std::max(worst, std::fabs(error) / std::max(1.0, std::fabs(static_cast<double>(x))));
    }
  }
  EXPECT_LE(worst, 1.0e-7);
}

TEST(KernelMath, TheLeftTailOfGeluDoesNotCancel) {
  double worst = 0;
  for (const float x : sweep(-1e-20F, -12.2F, 100000)) {
    const double exact = exact_gelu(static_cast<double>(x));
    worst = std::max(worst, std::fabs(static_cast<double>(gelu_of(x)) / exact - 1.0));
  }
  EXPECT_LE(worst, 1.0e-5);
  EXPECT_EQ(gelu_of(-13.0F), 0.0F);
  EXPECT_EQ(gelu_of(-1e38F), 0.0F);
  EXPECT_EQ(gelu_of(13.0F), 13.0F);
  EXPECT_EQ(gelu_of(1e38F), 1e38F);
}

std::vector<float> arguments() {
  std::vector<float> x{0.0F, -0.0F, 1.0F, -1.0F, 1e30F, -1e30F, 88.0F, -88.0F, -87.3365F, -12.4F};
  TestValues numbers(1);
  for (const float scale : {0.01F, 1.0F, 8.0F, 100.0F}) {
    for (int i = 0; i < 1500; ++i) x.push_back(scale * numbers.uniform());
  }
  x.resize(x.size() + 5, 0.5F);  // not a multiple of sixteen
  return x;
}

std::vector<float> silu_by(const KernelTable& table, const std::vector<float>& x) {
  const std::vector<float> ones(x.size(), 1.0F);
  std::vector<float> out(x.size());
  table.swiglu(x.data(), ones.data(), out.data(), static_cast<std::int64_t>(x.size()));
  return out;
}

std::vector<float> gelu_by(const KernelTable& table, const std::vector<float>& x) {
  const auto count = static_cast<std::int32_t>(x.size());
  const LinearKernel* f32 = nullptr;
  for (const LinearKernel& kernel : table.linear) {
    if (kernel.format == &kFormatF32) f32 = &kernel;
  }
  if (f32 == nullptr) return {};
  const Weight weight = dense_weight(kFormatF32, std::as_bytes(std::span(x)), count, 1);
  const Buffer packed = allocate_host(f32->packed_bytes(weight));
  const Buffer scratch = allocate_host(kLinearScratchBytes);
  const float row = 1.0F;
  std::vector<float> y(x.size());
  LinearCall call;
  call.packed = packed.data();
  call.in_features = 1;
  call.out_features = count;
  call.x = &row;
  call.x_stride = 1;
  call.rows = 1;
  call.y = y.data();
  call.y_stride = count;
  call.activation = KernelActivation::kGelu;
  call.panels = (count + kLanes - 1) / kLanes;
  call.scratch = scratch.data();
  f32->pack(weight, 0, call.panels, packed.data());
  f32->run(call);
  return y;
}

TEST(KernelMath, EveryTableGivesTheSameBits) {
  const std::vector<float> x = arguments();
  for (const KernelTable* table : tables_here()) {
    const std::vector<float> silu = silu_by(*table, x);
    const std::vector<float> gelu = gelu_by(*table, x);
    ASSERT_EQ(gelu.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(silu[i]), std::bit_cast<std::uint32_t>(silu_of(x[i])))
          << table->isa << " silu " << x[i];
      // A chain from +0 has no -0.
      ASSERT_EQ(std::bit_cast<std::uint32_t>(gelu[i]),
                std::bit_cast<std::uint32_t>(gelu_of(x[i] + 0.0F)))
          << table->isa << " gelu " << x[i];
    }
    EXPECT_EQ(digest(silu), 0x83ccec8d9b715e3cU) << table->isa;
    EXPECT_EQ(digest(gelu), 0xfbfb8b76cbb90318U) << table->isa;
  }
}

}  // namespace
}  // namespace verbatim
