// SwiGLU, addition, rotations and arg max: definitions to the bit, over every tail.
#include <vector>

#include "base/math.h"
#include "cpu/isa/scalar/lanes.h"
#include "cpu/kernels/kernel_test.h"
#include "cpu/kernels/math.h"

namespace verbatim {
namespace {

constexpr std::int64_t kSizes[] = {1, 7, 15, 16, 17, 33, 48, 100, 1000};

TEST(Swiglu, EveryTableGivesTheBitsOfItsDefinition) {
  for (const std::int64_t n : kSizes) {
    TestValues numbers(static_cast<std::uint32_t>(n));
    const std::vector<float> gate = numbers.uniforms(n, 20.0F);
    const std::vector<float> up = numbers.uniforms(n, 2.0F);
    std::vector<float> expected(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i) {
      float lanes[kLanes];
      scalar::Lanes::store(lanes, silu<scalar::Lanes>(scalar::Lanes::set(gate[i])));
      expected[i] = lanes[0] * up[i];
    }
    for (const KernelTable* table : tables_here()) {
      std::vector<float> out(gate.size() + 1, 7.0F);
      table->swiglu(gate.data(), up.data(), out.data(), n);
      EXPECT_EQ(out.back(), 7.0F) << table->isa << " wrote past n";
      out.pop_back();
      EXPECT_TRUE(same_bits(out, expected)) << table->isa << " n " << n;
      std::vector<float> in_place = gate;
      table->swiglu(in_place.data(), up.data(), in_place.data(), n);
      EXPECT_TRUE(same_bits(in_place, expected)) << table->isa << " in place, n " << n;
    }
  }
}

TEST(Add, EveryTableAddsEveryElementOnce) {
  for (const std::int64_t n : kSizes) {
    TestValues numbers(static_cast<std::uint32_t>(n) + 1);
    const std::vector<float> x = numbers.uniforms(n);
    const std::vector<float> y = numbers.uniforms(n);
    for (const KernelTable* table : tables_here()) {
      std::vector<float> sum = x;
      sum.push_back(7.0F);
      table->add(sum.data(), y.data(), n);
      EXPECT_EQ(sum.back(), 7.0F) << table->isa << " wrote past n";
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(sum[i], x[i] + y[i]) << table->isa;
    }
  }
}

std::vector<float> rotated(const std::vector<float>& head, const std::vector<float>& cos,
                           const std::vector<float>& sin) {
  const std::size_t half = head.size() / 2;
  std::vector<float> out(head.size());
  for (std::size_t i = 0; i < half; ++i) {
    // Products of their own: contraction is off, and each is rounded before the sum.
    const float a = head[i] * cos[i];
    const float b = -head[i + half] * sin[i];
    const float c = head[i + half] * cos[i];
    const float d = head[i] * sin[i];
    out[i] = a + b;
    out[i + half] = c + d;
  }
  return out;
}

constexpr std::int32_t kHeadDims[] = {2, 6, 16, 20, 32, 34, 64, 96, 128, 130, 256};

struct Turn {  // a head and the angles of its pairs
  explicit Turn(std::int32_t dim) {
    TestValues numbers(static_cast<std::uint32_t>(dim));
    head = numbers.uniforms(dim, 4.0F);
    for (std::int32_t i = 0; i < dim / 2; ++i) {
      const double angle = 1000.0 * static_cast<double>(numbers.uniform());
      cos.push_back(static_cast<float>(math_cos(angle)));
      sin.push_back(static_cast<float>(math_sin(angle)));
    }
  }
  std::vector<float> head;
  std::vector<float> cos;
  std::vector<float> sin;
};

TEST(Rope, EveryTableRoundsThreeTimes) {
  for (const std::int32_t dim : kHeadDims) {
    const Turn turn(dim);
    for (const KernelTable* table : tables_here()) {
      std::vector<float> turned = turn.head;
      turned.push_back(7.0F);
      table->rope(turned.data(), turn.cos.data(), turn.sin.data(), dim);
      EXPECT_EQ(turned.back(), 7.0F) << table->isa << " wrote past the head";
      turned.pop_back();
      EXPECT_TRUE(same_bits(turned, rotated(turn.head, turn.cos, turn.sin)))
          << table->isa << " dim " << dim;
    }
  }
}

// The pairs (i, i + dim / 2) side by side.
std::vector<float> interleaved(const std::vector<float>& head) {
  std::vector<float> out;
  for (std::size_t i = 0; i < head.size() / 2; ++i) {
    out.push_back(head[i]);
    out.push_back(head[i + head.size() / 2]);
  }
  return out;
}

TEST(RopeInterleaved, EveryTableGivesTheBitsOfTheHalfSplitRotation) {
  for (const std::int32_t dim : kHeadDims) {
    const Turn turn(dim);
    const std::vector<float> expected = interleaved(rotated(turn.head, turn.cos, turn.sin));
    for (const KernelTable* table : tables_here()) {
      std::vector<float> turned = interleaved(turn.head);
      turned.push_back(7.0F);
      table->rope_interleaved(turned.data(), turn.cos.data(), turn.sin.data(), dim);
      EXPECT_EQ(turned.back(), 7.0F) << table->isa << " wrote past the head";
      turned.pop_back();
      EXPECT_TRUE(same_bits(turned, expected)) << table->isa << " dim " << dim;
    }
  }
}

void expect_arg_max(const std::vector<float>& values, std::int64_t expected, const char* what) {
  for (const KernelTable* table : tables_here()) {
    EXPECT_EQ(table->arg_max(values.data(), static_cast<std::int64_t>(values.size())), expected)
        << table->isa << ", " << what;
  }
}

TEST(ArgMax, FindsTheLargestWhereverItStands) {
  for (const std::int64_t n : {1, 2, 16, 31, 33, 511, 512, 513, 1100}) {
    TestValues numbers(static_cast<std::uint32_t>(n));
    for (std::int64_t at = 0; at<n; at += n> 64 ? 37 : 1) {
      std::vector<float> values = numbers.uniforms(n);
      values[static_cast<std::size_t>(at)] = 1.5F;
      expect_arg_max(values, at, "one above all");
    }
  }
}

TEST(ArgMax, TheLowestIndexWinsATie) {
  for (const std::int64_t n : {40, 600, 1500}) {
    for (std::int64_t first = 0; first < n; first += 13) {
      std::vector<float> values(static_cast<std::size_t>(n), -2.0F);
      for (std::int64_t i = first; i < n; i += 17) values[static_cast<std::size_t>(i)] = -1.0F;
      expect_arg_max(values, first, "several equal");
    }
  }
  expect_arg_max({-0.0F, 0.0F, -0.0F}, 0, "zeros of both signs");
  expect_arg_max({-1.0F, 0.0F, -0.0F}, 1, "zeros of both signs");
}

TEST(ArgMax, NanIsSmallest) {
  for (const std::size_t n : {5U, 40U, 700U}) {
    std::vector<float> values(n, NAN);
    expect_arg_max(values, 0, "nothing but NaN");
    values[n - 2] = -HUGE_VALF;
    expect_arg_max(values, static_cast<std::int64_t>(n) - 2, "NaN and an infinity");
    values[n - 1] = -3e38F;
    expect_arg_max(values, static_cast<std::int64_t>(n) - 1, "NaN and a number");
    values[1] = HUGE_VALF;
    expect_arg_max(values, 1, "the other infinity");
  }
}

TEST(Elementwise, BitsAreTheRecordedOnes) {
  TestValues numbers(3);
  const std::vector<float> gate = numbers.uniforms(1005, 30.0F);
  const std::vector<float> up = numbers.uniforms(1005);
  const std::vector<float> angles = numbers.uniforms(100);
  for (const KernelTable* table : tables_here()) {
    std::vector<float> out(gate.size());
    table->swiglu(gate.data(), up.data(), out.data(), static_cast<std::int64_t>(out.size()));
    table->add(out.data(), gate.data(), static_cast<std::int64_t>(out.size()));
    table->rope(out.data(), angles.data(), angles.data() + 50, 100);
    EXPECT_EQ(digest(out), 0x3f714684820181b6U) << table->isa;
    table->rope_interleaved(out.data(), angles.data(), angles.data() + 50, 100);
    EXPECT_EQ(digest(out), 0xf73d7b7223071610U) << table->isa;
  }
}

}  // namespace
}  // namespace verbatim
