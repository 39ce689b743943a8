// The projections over int8 activations of every table that runs here, against their definition to
// the bit: rows rounded by one scale, or a scale and a zero, exact integer sums by groups, one
// chain of multiply-adds over the groups.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/kernels/kernel_test.h"
#include "cpu/kernels/linear_shapes.h"
#include "cpu/linear_cut.h"
#include "tensor/tensor.h"

namespace verbatim {
namespace {

enum class Fill : std::uint8_t { kRandom, kSmallest, kLargest };

bool has_halves(const WeightFormat& format) {
  return &format == &kFormatW4A8 || &format == &kFormat8da4w;
}

// A weight with everything it refers to.
struct Coded {
  Coded(const WeightFormat& format, std::int32_t out, std::int32_t in, std::int32_t group,
        bool has_zeros = false, Fill fill = Fill::kRandom) {
    TestValues random(static_cast<std::uint32_t>(out * 7 + in * 3 + group));
    const bool halves = has_halves(format);
    const std::int32_t row_bytes = halves ? (in + 1) / 2 : in;
    const int span = halves ? 255 : 127;
    codes.resize(static_cast<std::size_t>(row_bytes) * static_cast<std::size_t>(out));
    for (std::byte& code : codes) {
      int value = static_cast<int>(random.uniform() * 128.0F) & 255;
      if (fill == Fill::kSmallest) value = halves ? 0 : 128;
      if (fill == Fill::kLargest) value = span;
      code = static_cast<std::byte>(value);
    }
    const std::int32_t groups = (in + group - 1) / group;
    scales = random.uniforms(std::int64_t{groups} * out, 0.01F, 0.02F);
    for (std::int32_t i = 0; has_zeros && i < groups * out; ++i) {
      zeros.push_back(static_cast<std::int8_t>(random.uniform() * (halves ? 8.0F : 128.0F)));
    }
    weight.format = &format;
    weight.out_features = out;
    weight.in_features = in;
    weight.group = group;
    weight.planes = {codes, std::as_bytes(std::span(scales)), std::as_bytes(std::span(zeros)), {}};
  }
  Coded(const Coded&) = delete;
  Coded& operator=(const Coded&) = delete;

  std::int32_t code(std::int32_t row, std::int32_t k) const {
    if (!has_halves(*weight.format))
      return static_cast<std::int8_t>(
          codes[static_cast<std::size_t>(row) * static_cast<std::size_t>(weight.in_features) +
                static_cast<std::size_t>(k)]);
    const auto pair = static_cast<std::int32_t>(
        codes[static_cast<std::size_t>(row * ((weight.in_features + 1) / 2) + k / 2)]);
    return (k % 2 == 0 ? pair % 16 : pair / 16) - 8;
  }

  std::vector<std::byte> codes;
  std::vector<float> scales;
  std::vector<std::int8_t> zeros;
  Weight weight;
};

struct Rounded {
  float scale;
  int zero;
  std::vector<int> codes;
};

Rounded rounded_asymmetrically(const float* x, std::int32_t in) {
  const float low = std::min(0.0F, *std::min_element(x, x + in));
  const float high = std::max(0.0F, *std::max_element(x, x + in));
  Rounded row{std::max((high - low) / 255, std::numeric_limits<float>::epsilon()), 0, {}};
  row.zero = std::clamp(-128 - static_cast<int>(std::nearbyint(low / row.scale)), -128, 127);
  const float inverse = 1 / row.scale;
  for (std::int32_t k = 0; k < in; ++k) {
    const int code = static_cast<int>(std::nearbyint(x[k] * inverse)) + row.zero;
    row.codes.push_back(std::clamp(code, -128, 127));
  }
  return row;
}

Rounded rounded(const WeightFormat& format, const float* x, std::int32_t in) {
  if (format.activations == Activations::kInt8Asymmetric) return rounded_asymmetrically(x, in);
  float most = 0;
  for (std::int32_t k = 0; k < in; ++k) most = std::max(most, std::fabs(x[k]));
  Rounded row{most / 127.5F, 0, {}};
  if (row.scale == 0) row.scale = std::numeric_limits<float>::epsilon();
  for (std::int32_t k = 0; k < in; ++k) {
    row.codes.push_back(
        static_cast<int>(std::nearbyint(std::clamp(x[k] / row.scale, -128.0F, 127.0F))));
  }
  return row;
}

// Codes, sums and their chain, one output at a time.
float defined(const Coded& coded, const Rounded& row, std::int32_t output) {
  const Weight& weight = coded.weight;
  const std::int32_t groups = (weight.in_features + weight.group - 1) / weight.group;
  float total = 0;
  for (std::int32_t g = 0; g < groups; ++g) {
    const auto at = static_cast<std::size_t>(output * groups + g);
    const int zero = coded.zeros.empty() ? 0 : coded.zeros[at];
    std::int64_t sum = 0;
    const std::int32_t end = std::min((g + 1) * weight.group, weight.in_features);
    for (std::int32_t k = g * weight.group; k < end; ++k) {
      sum += (coded.code(output, k) - zero) * (row.codes[static_cast<std::size_t>(k)] - row.zero);
    }
    total = std::fma(static_cast<float>(static_cast<std::int32_t>(sum)), coded.scales[at], total);
  }
  return total * row.scale;
}

constexpr float kUntouched = 12345.0F;

class Runner {
 public:
  Runner(const KernelTable& table, const Coded& coded, const std::vector<float>& x,
         const std::vector<float>& bias)
      : weight_(coded.weight), bias_(bias), scratch_(allocate_host(kLinearScratchBytes)) {
    for (const LinearKernel& candidate : table.linear) {
      if (candidate.format == weight_.format) kernel_ = &candidate;
    }
    check(kernel_ != nullptr, "the table has the format");
    packed_ = allocate_host(kernel_->packed_bytes(weight_));
    kernel_->pack(weight_, 0, panel_count(weight_.out_features), packed_.data());
    row_bytes_ = rounded_row(weight_.in_features, weight_.group).bytes;
    const std::size_t rows = x.size() / static_cast<std::size_t>(weight_.in_features);
    rounded_ = allocate_host(row_bytes_ * rows);
    std::fill(rounded_.data(), rounded_.data() + rounded_.size(), std::byte{0x5a});
    for (std::size_t r = 0; r < rows; ++r) {
      table.rounding(weight_.format->activations)(
          x.data() + r * static_cast<std::size_t>(weight_.in_features), weight_.in_features,
          weight_.group, rounded_.data() + r * row_bytes_);
    }
    y.assign(rows * static_cast<std::size_t>(y_stride()), kUntouched);
    rows_ = static_cast<std::int64_t>(rows);
  }
  std::int64_t y_stride() const { return weight_.out_features + 3; }
  std::int64_t panels() const { return panel_count(weight_.out_features); }

  void run(std::int64_t row, std::int64_t rows, std::int64_t panel, std::int64_t panels) {
    LinearCall call;
    call.packed = packed_.data();
    call.in_features = weight_.in_features;
    call.out_features = weight_.out_features;
    call.group = weight_.group;
    call.has_zeros = !weight_.planes[2].empty();
    call.rounded = rounded_.data() + static_cast<std::size_t>(row) * row_bytes_;
    call.rounded_stride = static_cast<std::int64_t>(row_bytes_);
    call.rows = rows;
    call.y = y.data() + row * y_stride();
    call.y_stride = y_stride();
    call.bias = bias_.data();
    call.panel = panel;
    call.panels = panels;
    call.scratch = scratch_.data();
    kernel_->run(call);
  }
  const std::vector<float>& whole() {
    run(0, rows_, 0, panels());
    return y;
  }

  std::vector<float> y;

 private:
  const Weight& weight_;
  const std::vector<float>& bias_;
  const LinearKernel* kernel_ = nullptr;
  Buffer packed_;
  Buffer rounded_;
  Buffer scratch_;
  std::size_t row_bytes_ = 0;
  std::int64_t rows_ = 0;
};

void expect_defined(const Coded& coded, const std::vector<float>& x) {
  const Weight& weight = coded.weight;
  const auto in = static_cast<std::size_t>(weight.in_features);
  const auto out = static_cast<std::size_t>(weight.out_features);
  TestValues random(5);
  const std::vector<float> bias = random.uniforms(weight.out_features);
  std::vector<float> expected(x.size() / in * (out + 3), kUntouched);
  for (std::size_t r = 0; r < x.size() / in; ++r) {
    const Rounded row = rounded(*weight.format, x.data() + r * in, weight.in_features);
    for (std::size_t o = 0; o < out; ++o) {
      expected[r * (out + 3) + o] = defined(coded, row, static_cast<std::int32_t>(o)) + bias[o];
    }
  }
  for (const KernelTable* table : tables_here()) {
    Runner runner(*table, coded, x, bias);
    EXPECT_TRUE(same_bits(runner.whole(), expected))
        << table->isa << " " << weight.format->name << " rows " << x.size() / in << " in " << in
        << " out " << out << " group " << weight.group << " zeros " << !coded.zeros.empty();
  }
}

std::vector<float> some_rows(std::int64_t rows, std::int32_t in) {
  return TestValues(static_cast<std::uint32_t>(rows * 13 + in)).uniforms(rows * in, 3.0F);
}

// Those whose weights may have zeros come first.
const WeightFormat* const kFormats[]{&kFormatW8A8, &kFormatW4A8, &kFormat8da8w, &kFormat8da4w};
bool may_have_zeros(const WeightFormat& format) {
  return format.activations == Activations::kInt8PerRow;
}

TEST(LinearInt8, EveryTableGivesTheDefinedBitsForAnyShape) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int32_t in : {1, 7, 16, 63, 64, 160, 600}) {
      for (const std::int32_t out : {1, 16, 40, 70}) {
        for (const std::int32_t group : {32, 128, in}) {
          const Coded coded(*format, out, in, group);
          for (const std::int64_t rows : {1, 2, 3, 4, 5, 13}) {
            expect_defined(coded, some_rows(rows, in));
          }
        }
      }
    }
  }
}

TEST(LinearInt8, ZerosAreTakenOffExactly) {
  for (const WeightFormat* format : kFormats) {
    if (!may_have_zeros(*format)) continue;
    for (const std::int32_t group : {32, 128, 300}) {
      const Coded coded(*format, 83, 300, group, true);
      for (const std::int64_t rows : {1, 4, 29}) expect_defined(coded, some_rows(rows, 300));
    }
  }
}

TEST(LinearInt8, GroupsLongerThanABlockAreSummedWhole) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int32_t group : {528, 1040, 1300}) {
      const Coded coded(*format, 83, 1300, group, may_have_zeros(*format));
      for (const std::int64_t rows : {1, 31}) expect_defined(coded, some_rows(rows, 1300));
    }
    const Coded wide(*format, 70, 4700, 4700, may_have_zeros(*format));
    expect_defined(wide, some_rows(7, 4700));
  }
}

TEST(LinearInt8, ManyRowsAndPanelsGiveTheDefinedBits) {
  for (const WeightFormat* format : kFormats) {
    expect_defined(Coded(*format, 83, 144, 32), some_rows(401, 144));
    expect_defined(Coded(*format, 300, 400, 128), some_rows(64, 400));
  }
}

// Every code and every activation at its end: sums as large as they get.
TEST(LinearInt8, ExtremeCodesSaturateNothing) {
  for (const WeightFormat* format : kFormats) {
    for (const Fill fill : {Fill::kSmallest, Fill::kLargest}) {
      for (const float value : {1.0F, -1.0F}) {
        const Coded coded(*format, 70, 4096, 4096, false, fill);
        for (const std::int64_t rows : {1, 4, 7}) {
          expect_defined(coded, std::vector<float>(static_cast<std::size_t>(rows) * 4096, value));
        }
      }
    }
  }
}

TEST(LinearInt8, RowsOfZerosAndHalfwayValuesAreRoundedAsDefined) {
  const Coded coded(kFormatW8A8, 33, 64, 64);
  std::vector<float> x(64 * 5, 0.0F);
  for (std::size_t k = 0; k < 64; ++k) {
    x[64 + k] = static_cast<float>(k) - 31.5F;  // halves, the scale being 31.5 / 127.5
    x[128 + k] = k == 0 ? 127.5F : static_cast<float>(k) + 0.5F;  // halves, the scale being 1
    x[192 + k] = k == 0 ? -127.5F : -static_cast<float>(k) - 0.5F;
    x[256 + k] = k % 3 == 0 ? 1e-40F : -0.0F;
  }
  expect_defined(coded, x);
}

// Rows with no value below zero, none above, one only, and less than the least scale.
TEST(LinearInt8, OneSidedRowsKeepTheirZeroInRange) {
  for (const WeightFormat* format : {&kFormat8da8w, &kFormat8da4w}) {
    const Coded coded(*format, 33, 75, 32);
    std::vector<float> x = some_rows(6, 75);
    for (std::size_t k = 0; k < 75; ++k) {
      x[k] = std::fabs(x[k]) + 1;
      x[75 + k] = -std::fabs(x[75 + k]) - 1;
      x[150 + k] = k == 74 ? 2.5F : 0.0F;
      x[225 + k] = k == 0 ? -2.5F : -0.0F;
      x[300 + k] = k % 3 == 0 ? 1e-8F : -1e-40F;
      x[375 + k] = k == 0 ? 127.5F : k == 1 ? -127.5F : static_cast<float>(k) - 36.5F;  // halves
    }
    expect_defined(coded, x);
  }
}

// No test of the definition, which a plain loop has no NaN for: only that all tables agree.
TEST(LinearInt8, InfinitiesAndNaNsFollowOneRule) {
  for (const WeightFormat* format : kFormats) {
    const Coded coded(*format, 17, 40, 40);
    std::vector<float> x = some_rows(4, 40);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    x[45] = std::numeric_limits<float>::infinity();
    x[86] = -std::numeric_limits<float>::infinity();
    x[121] = std::numeric_limits<float>::max();
    x[122] = -std::numeric_limits<float>::max();
    const std::size_t row_bytes = rounded_row(40, 40).bytes;
    std::vector<std::byte> expected;
    for (const KernelTable* table : tables_here()) {
      Buffer to = allocate_host(4 * row_bytes);
      std::fill(to.data(), to.data() + to.size(), std::byte{0});
      for (std::size_t r = 0; r < 4; ++r)
        table->rounding(format->activations)(x.data() + r * 40, 40, 40, to.data() + r * row_bytes);
      const std::vector<std::byte> found(to.data(), to.data() + to.size());
      if (expected.empty()) expected = found;
      EXPECT_EQ(found, expected) << table->isa << " " << format->name;
    }
  }
}

TEST(LinearInt8, NeighboursInTheBatchAndCutsOfThePanelsChangeNoBit) {
  for (const WeightFormat* format : kFormats) {
    const std::int32_t out = 16 * 21 + 3;
    const Coded coded(*format, out, 608, has_halves(*format) ? 128 : 608);
    const std::vector<float> x = some_rows(40, 608);
    const std::vector<float> bias = TestValues(5).uniforms(out);
    for (const KernelTable* table : tables_here()) {
      Runner whole(*table, coded, x, bias);
      whole.whole();
      for (const std::int64_t slice : {1, 2, 3, 4, 5, 12, 29}) {
        Runner rows(*table, coded, x, bias);
        for (std::int64_t row = 0; row < 40; row += slice) {
          rows.run(row, std::min<std::int64_t>(slice, 40 - row), 0, rows.panels());
        }
        EXPECT_TRUE(same_bits(rows.y, whole.y)) << table->isa << " " << format->name;
        Runner panels(*table, coded, x, bias);
        for (std::int64_t panel = 0; panel < panels.panels(); panel += slice) {
          panels.run(0, 40, panel, std::min(slice, panels.panels() - panel));
        }
        EXPECT_TRUE(same_bits(panels.y, whole.y)) << table->isa << " " << format->name;
      }
    }
  }
}

// The weight as decode_row has it and the rounded activations, in double.
TEST(LinearInt8, TotalsAreAsCloseToDoubleAsTheirChainAllows) {
  for (const WeightFormat* format : kFormats) {
    const std::int32_t in = 3584;
    const Coded coded(*format, 33, in, 128, may_have_zeros(*format));
    const std::vector<float> x = some_rows(1, in);
    const std::vector<float> bias(33, 0.0F);
    const Rounded row = rounded(*format, x.data(), in);
    std::vector<float> decoded(static_cast<std::size_t>(in));
    for (const KernelTable* table : tables_here()) {
      Runner runner(*table, coded, x, bias);
      runner.whole();
      for (std::int32_t o = 0; o < 33; ++o) {
        format->decode_row(coded.weight, o, decoded);
        double sum = 0;
        double magnitude = 0;
        for (std::size_t k = 0; k < decoded.size(); ++k) {
          const double term = static_cast<double>(decoded[k]) * (row.codes[k] - row.zero) *
                              static_cast<double>(row.scale);
          sum += term;
          magnitude += std::fabs(term);
        }
        // 28 groups, the scale, what decode_row rounds, and a margin.
        EXPECT_NEAR(static_cast<double>(runner.y[static_cast<std::size_t>(o)]), sum,
                    (28 + 1 + 1 + 1) * std::ldexp(1.0, -24) * magnitude)
            << table->isa << " " << format->name;
      }
    }
  }
}

TEST(LinearInt8, EveryMachineGivesTheCommittedBits) {
  constexpr std::uint64_t kExpected[]{5402741431964266883u, 13983810613395907677u,
                                      11900009481275621491u, 16024061188859462446u};
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const Coded coded(*kFormats[i], 83, 601, 64, may_have_zeros(*kFormats[i]));
    const std::vector<float> x = some_rows(29, 601);
    const std::vector<float> bias = TestValues(5).uniforms(83);
    for (const KernelTable* table : tables_here()) {
      Runner runner(*table, coded, x, bias);
      EXPECT_EQ(digest(runner.whole()), kExpected[i]) << table->isa << " " << kFormats[i]->name;
    }
  }
}

}  // namespace
}  // namespace verbatim
