// Projections by codes and scales of every table that runs here, against their definition to the
// bit, one output at a time, and against the weights' values in double.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "cpu/kernels/kernel_test.h"
#include "tensor/tensor.h"

namespace verbatim {
namespace {

constexpr float kBook[16]{
    -1.0F,      -0.6961928F, -0.5250731F, -0.3949175F, -0.2844414F, -0.1847734F, -0.09105F,  0.0F,
    0.0795803F, 0.1609302F,  0.2461123F,  0.3379152F,  0.4407098F,  0.562617F,   0.7229568F, 1.0F};

struct Shape {
  std::int64_t rows;
  std::int32_t in;
  std::int32_t out;
  std::int32_t group;
  bool zeros = false;
  bool order = false;
};

// One projection with everything it reads, and with codes and zeros as integers besides.
struct Problem {
  Problem(const WeightFormat& format, const Shape& made) : shape(made) {
    TestValues random(
        static_cast<std::uint32_t>(shape.rows * 31 + shape.in * 7 + shape.out + shape.group * 3));
    groups = (shape.in + shape.group - 1) / shape.group;
    x = random.uniforms((shape.rows - 1) * x_stride() + shape.in);
    bias = random.uniforms(shape.out);
    residual = random.uniforms(shape.rows * y_stride());
    const bool is_int8 = &format == &kFormatInt8;
    const float reach = is_int8 ? 128.0F : 8.0F;
    codes.resize(static_cast<std::size_t>(shape.out * std::int64_t{shape.in}));
    for (int& code : codes) code = static_cast<int>(std::floor(random.uniform() * reach));
    scales = random.uniforms(shape.out * groups, 0.01F, 0.02F);
    zeros.resize(static_cast<std::size_t>(shape.out * groups));
    for (std::int8_t& zero : zeros) {
      zero = static_cast<std::int8_t>(shape.zeros ? std::floor(random.uniform() * reach) : 0.0F);
    }
    order.resize(static_cast<std::size_t>(shape.in));
    std::iota(order.begin(), order.end(), 0);
    for (std::int32_t k = shape.in - 1; shape.order && k > 0; --k) {
      const float place = (random.uniform() + 1.0F) / 2.0F * static_cast<float>(k + 1);
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(place)]);
    }
    store_codes(is_int8);
    weight = {.format = &format,
              .out_features = shape.out,
              .in_features = shape.in,
              .group = shape.group,
              .planes = {stored, std::as_bytes(std::span(scales)), {}, {}}};
    if (&format == &kFormatNf4) weight.planes[2] = std::as_bytes(std::span(kBook));
    if (shape.zeros) weight.planes[2] = std::as_bytes(std::span(zeros));
    if (shape.order) weight.planes[3] = std::as_bytes(std::span(order));
  }
  void store_codes(bool is_int8) {
    const std::int32_t row_bytes = is_int8 ? shape.in : (shape.in + 1) / 2;
    stored.resize(static_cast<std::size_t>(shape.out * std::int64_t{row_bytes}));
    for (std::int64_t o = 0; o < shape.out; ++o) {
      for (std::int64_t k = 0; k < shape.in; ++k) {
        const int code = codes[static_cast<std::size_t>(o * shape.in + k)];
        std::byte& to = stored[static_cast<std::size_t>(o * row_bytes + (is_int8 ? k : k / 2))];
        to |= is_int8 ? static_cast<std::byte>(code)
                      : static_cast<std::byte>((code + 8) << (k % 2 * 4));
      }
    }
  }
  float code(std::int64_t o, std::int64_t k) const {
    const int stored_code = codes[static_cast<std::size_t>(o * shape.in + k)];
    if (weight.format == &kFormatNf4) return kBook[stored_code + 8];
    return static_cast<float>(stored_code);
  }
  std::int64_t x_stride() const { return shape.in + 3; }
  std::int64_t y_stride() const { return shape.out + 5; }

  Shape shape;
  std::int64_t groups;
  std::vector<float> x;
  std::vector<float> bias;
  std::vector<float> residual;
  std::vector<int> codes;
  std::vector<std::byte> stored;
  std::vector<float> scales;
  std::vector<std::int8_t> zeros;
  std::vector<std::int32_t> order;
  Weight weight;
};

constexpr float kUntouched = 12345.0F;  // what no kernel may write: the space between rows of y

class Runner {
 public:
  Runner(const KernelTable& table, const Problem& problem)
      : problem_(problem), scratch_(allocate_host(kLinearScratchBytes)) {
    for (const LinearKernel& candidate : table.linear) {
      if (candidate.format == problem.weight.format) kernel_ = &candidate;
    }
    check(kernel_ != nullptr && kernel_->can(problem.weight), "the table takes the weight");
    packed_ = allocate_host(kernel_->packed_bytes(problem.weight));
    // In two parts and backwards, as workers may.
    const std::int64_t half = panels() / 2;
    kernel_->pack(problem.weight, half, panels() - half, packed_.data());
    if (half > 0) kernel_->pack(problem.weight, 0, half, packed_.data());
    y.assign(static_cast<std::size_t>(problem.shape.rows * problem.y_stride()), kUntouched);
  }
  std::int64_t panels() const { return (problem_.shape.out + kLanes - 1) / kLanes; }

  void run(std::int64_t row, std::int64_t rows, std::int64_t panel, std::int64_t count) {
    LinearCall call;
    call.packed = packed_.data();
    call.in_features = problem_.shape.in;
    call.out_features = problem_.shape.out;
    call.x = problem_.x.data() + row * problem_.x_stride();
    call.x_stride = problem_.x_stride();
    call.rows = rows;
    call.y = y.data() + row * problem_.y_stride();
    call.y_stride = problem_.y_stride();
    call.bias = problem_.bias.data();
    call.residual = problem_.residual.data() + row * problem_.y_stride();
    call.residual_stride = problem_.y_stride();
    call.panel = panel;
    call.panels = count;
    call.scratch = scratch_.data();
    kernel_->run(call);
  }
  const std::vector<float>& whole() {
    run(0, problem_.shape.rows, 0, panels());
    return y;
  }

  std::vector<float> y;

 private:
  const Problem& problem_;
  const LinearKernel* kernel_ = nullptr;
  Buffer packed_;
  Buffer scratch_;
};

// Sixteen running sums joined by the tree of the lanes.
float sum_of_x(const std::vector<float>& x) {
  float sums[kLanes] = {};
  for (std::size_t k = 0; k < x.size(); ++k) sums[k % kLanes] += x[k];
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

// The definition, one output at a time.
float defined(const Problem& problem, std::int64_t row, std::int64_t o) {
  const Shape& shape = problem.shape;
  float total = 0;
  for (std::int32_t first = 0, end = 0; first < shape.in; first = end) {
    end = problem.weight.format->segment_end(problem.weight, first);
    const auto at = static_cast<std::size_t>(o * problem.groups + first / shape.group);
    std::vector<float> x;
    float sum = 0;
    for (std::int32_t k = first; k < end; ++k) {
      const std::int32_t feature = problem.order[static_cast<std::size_t>(k)];
      x.push_back(problem.x[static_cast<std::size_t>(row * problem.x_stride() + feature)]);
      sum = std::fma(x.back(), problem.code(o, k), sum);
    }
    if (shape.zeros) sum = std::fma(-static_cast<float>(problem.zeros[at]), sum_of_x(x), sum);
    total = std::fma(sum, problem.scales[at], total);
  }
  total += problem.bias[static_cast<std::size_t>(o)];
  return problem.residual[static_cast<std::size_t>(row * problem.y_stride() + o)] + total;
}

void expect_defined(const WeightFormat& format, const Shape& shape) {
  const Problem problem(format, shape);
  std::vector<float> expected(static_cast<std::size_t>(shape.rows * problem.y_stride()),
                              kUntouched);
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    for (std::int64_t o = 0; o < shape.out; ++o) {
      expected[static_cast<std::size_t>(r * problem.y_stride() + o)] = defined(problem, r, o);
    }
  }
  for (const KernelTable* table : tables_here()) {
    Runner runner(*table, problem);
    EXPECT_TRUE(same_bits(runner.whole(), expected))
        << table->isa << " " << format.name << " rows " << shape.rows << " in " << shape.in
        << " out " << shape.out << " group " << shape.group << " zeros " << shape.zeros << " order "
        << shape.order;
  }
}

const WeightFormat* const kFormats[]{&kFormatNf4, &kFormatInt4, &kFormatInt8};

TEST(LinearCoded, EveryTableGivesTheDefinedBits) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 29}) {
      for (const std::int32_t out : {1, 16, 77, 130}) {
        for (const std::int32_t group : {16, 32, 64, 128, 256}) {
          expect_defined(*format, {rows, 512, out, group});
        }
      }
    }
  }
}

TEST(LinearCoded, GroupsLongerThanASegmentAreCutAt256) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 3, 14}) {
      expect_defined(*format, {rows, 1152, 40, 1152});
      expect_defined(*format, {rows, 1152, 40, 384});
      expect_defined(*format, {rows, 601, 40, 601});
    }
  }
}

TEST(LinearCoded, LastGroupsAndOddLengthsAreWhole) {
  for (const WeightFormat* format : {&kFormatInt4, &kFormatInt8}) {
    for (const std::int64_t rows : {1, 2, 4, 7}) {
      for (const std::int32_t in : {1, 15, 17, 129, 333}) {
        for (const std::int32_t group : {18, 36, 128})
          expect_defined(*format, {rows, in, 33, group});
      }
    }
  }
}

TEST(LinearCoded, ZerosAndOrderCombineAsDefined) {
  for (const WeightFormat* format : {&kFormatInt4, &kFormatInt8}) {
    for (const std::int64_t rows : {1, 2, 4, 5, 29}) {
      for (const std::int32_t group : {32, 128, 400}) {
        expect_defined(*format, {rows, 400, 70, group, true, false});
        expect_defined(*format, {rows, 400, 70, group, false, true});
        expect_defined(*format, {rows, 400, 70, group, true, true});
      }
    }
  }
}

TEST(LinearCoded, NeighboursInTheBatchChangeNoBit) {
  for (const WeightFormat* format : kFormats) {
    const Problem problem(*format, {64, 640, 77, 64, format != &kFormatNf4});
    for (const KernelTable* table : tables_here()) {
      Runner whole(*table, problem);
      whole.whole();
      for (const std::int64_t slice : {1, 2, 3, 4, 5, 12, 29}) {
        Runner parts(*table, problem);
        for (std::int64_t row = 0; row < problem.shape.rows; row += slice) {
          parts.run(row, std::min(slice, problem.shape.rows - row), 0, parts.panels());
        }
        EXPECT_TRUE(same_bits(parts.y, whole.y))
            << table->isa << " " << format->name << " " << slice;
      }
    }
  }
}

TEST(LinearCoded, CutsOfThePanelsChangeNoBit) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 3, 30}) {
      const Problem problem(*format, {rows, 320, 16 * 37 + 3, 64});
      for (const KernelTable* table : tables_here()) {
        Runner whole(*table, problem);
        whole.whole();
        for (const std::int64_t slice : {1, 2, 3, 7, 8, 9, 16}) {
          Runner parts(*table, problem);
          for (std::int64_t panel = 0; panel < parts.panels(); panel += slice) {
            parts.run(0, rows, panel, std::min(slice, parts.panels() - panel));
          }
          EXPECT_TRUE(same_bits(parts.y, whole.y))
              << table->isa << " " << format->name << " rows " << rows << " slice " << slice;
        }
      }
    }
  }
}

TEST(LinearCoded, SumsAreAsCloseToTheValuesInDoubleAsTheirLengthAllows) {
  for (const WeightFormat* format : kFormats) {
    const bool zeros = format != &kFormatNf4;
    const Problem problem(*format, {5, 2048, 32, 128, zeros, zeros});
    std::vector<float> values(2048);
    // A chain of 128 roundings, what a zero adds, 16 sums, the values' own roundings.
    const double bound = (128 + 3 + 16 + 2) * std::ldexp(1.0, -24);
    for (const KernelTable* table : tables_here()) {
      Runner runner(*table, problem);
      runner.whole();
      for (std::int64_t o = 0; o < problem.shape.out; ++o) {
        format->decode_row(problem.weight, static_cast<std::int32_t>(o), values);
        for (std::int64_t r = 0; r < problem.shape.rows; ++r) {
          const auto at = static_cast<std::size_t>(r * problem.y_stride() + o);
          double sum = static_cast<double>(problem.bias[static_cast<std::size_t>(o)]) +
                       static_cast<double>(problem.residual[at]);
          double magnitude = 2;
          for (std::int64_t k = 0; k < problem.shape.in; ++k) {
            const double x = static_cast<double>(
                problem.x[static_cast<std::size_t>(r * problem.x_stride() + k)]);
            sum += x * static_cast<double>(values[static_cast<std::size_t>(k)]);
            // Codes and zeros may cancel: what is rounded is as large as they are.
            magnitude += std::fabs(x) * (zeros ? 2 * 0.03 * 128 : 0.03);
          }
          EXPECT_NEAR(static_cast<double>(runner.y[at]), sum, bound * magnitude)
              << table->isa << " " << format->name;
        }
      }
    }
  }
}

TEST(LinearCoded, EveryMachineGivesTheCommittedBits) {
  constexpr std::uint64_t kExpected[]{17913441626738235760u, 11465824007466111978u,
                                      10079611357855251422u};
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const bool zeros = kFormats[i] != &kFormatNf4;
    const Problem problem(*kFormats[i], {29, 608, 83, 32, zeros, zeros});
    for (const KernelTable* table : tables_here()) {
      Runner runner(*table, problem);
      EXPECT_EQ(digest(runner.whole()), kExpected[i]) << table->isa << " " << kFormats[i]->name;
    }
  }
}

TEST(LinearCoded, WeightsThatTheKernelsDoNotTakeAreTold) {
  const LinearKernel* nf4 = nullptr;
  for (const LinearKernel& kernel : scalar_table().linear) {
    if (kernel.format == &kFormatNf4) nf4 = &kernel;
  }
  ASSERT_NE(nf4, nullptr);
  Weight weight{
      .format = &kFormatNf4, .out_features = 16, .in_features = 128, .group = 64, .planes = {}};
  EXPECT_TRUE(nf4->can(weight));
  weight.in_features = 96;  // a block would cross rows
  EXPECT_FALSE(nf4->can(weight));
  weight.format = &kFormatInt4;
  EXPECT_TRUE(nf4->can(weight));
  for (const std::int32_t group : {0, 8, 33}) {
    weight.group = group;
    EXPECT_FALSE(nf4->can(weight)) << group;
  }
}

}  // namespace
}  // namespace verbatim
