// RMS norm: its definition to the bit, its accuracy, and the same bits from every table.
#include <cmath>
#include <vector>

#include "cpu/kernels/kernel_test.h"

namespace verbatim {
namespace {

constexpr std::int64_t kWidths[] = {1, 2, 15, 16, 17, 31, 64, 100, 896, 3584};

std::vector<float> norm(const KernelTable& table, const std::vector<float>& x,
                        const std::vector<float>& gain, float eps) {
  std::vector<float> out(x.size() + 3, 7.0F);
  table.rms_norm(x.data(), gain.data(), eps, out.data(), static_cast<std::int64_t>(x.size()));
  for (std::size_t i = x.size(); i < out.size(); ++i) EXPECT_EQ(out[i], 7.0F) << "written past n";
  out.resize(x.size());
  return out;
}

std::vector<float> definition(const std::vector<float>& x, const std::vector<float>& gain,
                              float eps) {
  float running[16] = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    running[i % 16] = std::fma(x[i], x[i], running[i % 16]);
  }
  for (std::size_t half = 8; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) running[i] += running[i + half];
  }
  const float mean = running[0] / static_cast<float>(x.size());
  const float scale = 1.0F / std::sqrt(mean + eps);
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scaled = x[i] * scale;
    out[i] = gain[i] * scaled;
  }
  return out;
}

TEST(RmsNorm, EveryTableGivesTheBitsOfItsDefinition) {
  for (const std::int64_t n : kWidths) {
    TestValues numbers(static_cast<std::uint32_t>(n));
    const std::vector<float> x = numbers.uniforms(n, 3.0F);
    const std::vector<float> gain = numbers.uniforms(n);
    for (const KernelTable* table : tables_here()) {
      EXPECT_TRUE(same_bits(norm(*table, x, gain, 1e-6F), definition(x, gain, 1e-6F)))
          << table->isa << " n " << n;
    }
  }
}

TEST(RmsNorm, IsWithinThreeUlpsOfDouble) {
  for (const std::int64_t n : kWidths) {
    TestValues numbers(static_cast<std::uint32_t>(n) + 100);
    const std::vector<float> x = numbers.uniforms(n, 50.0F);
    const std::vector<float> gain(x.size(), 1.0F);
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
    const double root = std::sqrt(squares / static_cast<double>(n) + 1e-5);
    const std::vector<float> out = norm(*tables_here().front(), x, gain, 1e-5F);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = static_cast<double>(x[i]) / root;
      EXPECT_NEAR(static_cast<double>(out[i]), exact, 3.0 * std::ldexp(std::fabs(exact), -23));
    }
  }
}

TEST(RmsNorm, ARowOfZerosStaysZero) {
  const std::vector<float> x(40, 0.0F);
  const std::vector<float> gain(40, 2.0F);
  for (const KernelTable* table : tables_here()) {
    EXPECT_TRUE(same_bits(norm(*table, x, gain, 1e-6F), x)) << table->isa;
  }
}

TEST(RmsNorm, BitsAreTheRecordedOnes) {
  TestValues numbers(7);
  const std::vector<float> x = numbers.uniforms(1543, 5.0F);
  const std::vector<float> gain = numbers.uniforms(1543);
  for (const KernelTable* table : tables_here()) {
    EXPECT_EQ(digest(norm(*table, x, gain, 1e-6F)), 0x4bf7684a30c9bec1U) << table->isa;
  }
}

}  // namespace
}  // namespace verbatim
