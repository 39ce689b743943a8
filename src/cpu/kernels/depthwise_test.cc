// Depthwise convolution: its definition to the bit for every epilogue, channel count and row count.
#include <cmath>
#include <vector>

#include "cpu/kernels/kernel_test.h"

namespace verbatim {
namespace {

struct Problem {
  std::int32_t channels = 0;
  std::int32_t kernel = 0;
  std::int64_t rows = 0;
  bool bias = false;
  bool gain = false;
  bool residual = false;

  std::int64_t x_stride() const { return channels + 3; }
  std::int64_t y_stride() const { return channels + 1; }
  std::int64_t residual_stride() const { return channels + 2; }
};

struct Data {
  explicit Data(const Problem& p) {
    TestValues numbers(static_cast<std::uint32_t>(p.channels * 100 + p.kernel));
    x = numbers.uniforms((p.rows + p.kernel - 1) * p.x_stride());
    weights = numbers.uniforms(std::int64_t{p.channels} * p.kernel);
    bias = numbers.uniforms(p.channels);
    gain = numbers.uniforms(p.channels);
    residual = numbers.uniforms(p.rows * p.residual_stride());
    packed.assign(static_cast<std::size_t>((p.channels + 15) / 16 * 16 * p.kernel), 0.0F);
    for (std::int32_t c = 0; c < p.channels; ++c) {
      for (std::int32_t j = 0; j < p.kernel; ++j) {
        packed[static_cast<std::size_t>((c / 16 * p.kernel + j) * 16 + c % 16)] =
            weights[static_cast<std::size_t>(c * p.kernel + j)];
      }
    }
  }
  std::vector<float> x, weights, bias, gain, residual, packed;
};

// Rows [first, first + rows) of the problem, as one call.
std::vector<float> convolve(const KernelTable& table, const Problem& p, const Data& data,
                            std::int64_t first, std::int64_t rows) {
  std::vector<float> y(static_cast<std::size_t>(rows * p.y_stride()), 7.0F);
  DepthwiseCall call;
  call.packed = std::as_bytes(std::span(data.packed)).data();
  call.channels = p.channels;
  call.kernel = p.kernel;
  call.x = data.x.data() + first * p.x_stride();
  call.x_stride = p.x_stride();
  call.rows = rows;
  call.y = y.data();
  call.y_stride = p.y_stride();
  call.bias = p.bias ? data.bias.data() : nullptr;
  call.gain = p.gain ? data.gain.data() : nullptr;
  call.residual = p.residual ? data.residual.data() + first * p.residual_stride() : nullptr;
  call.residual_stride = p.residual_stride();
  table.depthwise(call);
  return y;
}

std::vector<float> definition(const Problem& p, const Data& data) {
  std::vector<float> y(static_cast<std::size_t>(p.rows * p.y_stride()), 7.0F);
  for (std::int64_t t = 0; t < p.rows; ++t) {
    for (std::int32_t c = 0; c < p.channels; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      float sum = 0;
      for (std::int32_t j = 0; j < p.kernel; ++j) {
        sum = std::fma(data.x[static_cast<std::size_t>((t + j) * p.x_stride() + c)],
                       data.weights[static_cast<std::size_t>(c * p.kernel + j)], sum);
      }
      if (p.bias) sum += data.bias[channel];
      const float residual = data.residual[static_cast<std::size_t>(t * p.residual_stride() + c)];
      if (p.gain && p.residual) {
        sum = std::fma(data.gain[channel], sum, residual);
      } else if (p.gain) {
        sum *= data.gain[channel];
      } else if (p.residual) {
        sum += residual;
      }
      y[static_cast<std::size_t>(t * p.y_stride() + c)] = sum;
    }
  }
  return y;
}

void expect_definition(const Problem& p) {
  const Data data(p);
  const std::vector<float> expected = definition(p, data);
  for (const KernelTable* table : tables_here()) {
    EXPECT_TRUE(same_bits(convolve(*table, p, data, 0, p.rows), expected))
        << table->isa << " channels " << p.channels << " kernel " << p.kernel << " rows " << p.rows;
  }
}

TEST(Depthwise, EveryTableGivesTheBitsOfItsDefinition) {
  for (const std::int32_t channels : {1, 2, 4, 16, 17, 32, 48, 100}) {
    for (const std::int64_t rows : {1, 2, 7, 8, 9, 25}) {
      for (const std::int32_t kernel : {1, 3, 7}) {
        expect_definition({channels, kernel, rows, true, true, true});
      }
    }
  }
}

TEST(Depthwise, EveryPartOfTheEpilogueMayBeLeftOut) {
  for (int parts = 0; parts < 8; ++parts) {
    expect_definition({20, 7, 11, (parts & 1) != 0, (parts & 2) != 0, (parts & 4) != 0});
  }
}

TEST(Depthwise, ARowsCompanyDoesNotChangeItsBits) {
  const Problem p{18, 7, 30, true, true, true};
  const Data data(p);
  for (const KernelTable* table : tables_here()) {
    const std::vector<float> all = convolve(*table, p, data, 0, p.rows);
    for (const std::int64_t rows : {1, 3, 8, 13}) {
      for (std::int64_t first = 0; first + rows <= p.rows; ++first) {
        const std::vector<float> some = convolve(*table, p, data, first, rows);
        EXPECT_TRUE(same_bits(
            some,
            std::span(all).subspan(static_cast<std::size_t>(first * p.y_stride()), some.size())))
            << table->isa << " rows " << first << " + " << rows;
      }
    }
  }
}

TEST(Depthwise, BitsAreTheRecordedOnes) {
  const Problem p{50, 7, 37, true, true, true};
  const Data data(p);
  for (const KernelTable* table : tables_here()) {
    EXPECT_EQ(digest(convolve(*table, p, data, 0, p.rows)), 0xaa2997d39f0bb846U) << table->isa;
  }
}

}  // namespace
}  // namespace verbatim
