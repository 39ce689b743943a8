// The projections of every table that runs here, against their definition to the bit: decode_row,
// segment_end and one chain of fused multiply-adds per segment.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/isa/scalar/lanes.h"
#include "cpu/kernels/kernel_test.h"
#include "cpu/kernels/linear_shapes.h"
#include "cpu/kernels/math.h"
#include "tensor/tensor.h"

namespace verbatim {
namespace {

struct Parts {  // of the epilogue
  bool bias = false;
  bool gelu = false;
  bool gain = false;
  bool residual = false;
};
constexpr Parts kPlain{};
constexpr Parts kAll[]{
    {},
    {.bias = true},
    {.bias = true, .gelu = true},
    {.gelu = true, .residual = true},
    {.bias = true, .residual = true},
    {.bias = true, .gain = true, .residual = true},
    {.bias = true, .gelu = true, .gain = true},
};

// One projection with everything it reads; x rows stand `x_stride` apart and y rows wider than out.
struct Problem {
  Problem(const WeightFormat& format, std::int64_t rows_, std::int32_t in_, std::int32_t out_,
          Parts parts_ = kPlain, std::int64_t x_stride_ = 0)
      : rows(rows_), in(in_), out(out_), parts(parts_), x_stride(x_stride_ == 0 ? in_ : x_stride_) {
    TestValues random(static_cast<std::uint32_t>(rows * 31 + in * 7 + out));
    x = random.uniforms((rows - 1) * x_stride + in);
    w = stored(format, random.uniforms(std::int64_t{in} * out));
    bias = random.uniforms(out);
    gain = random.uniforms(out);
    residual = random.uniforms(rows * residual_stride());
    weight = dense_weight(format, w, out, in);
  }
  std::int64_t y_stride() const { return out + 5; }
  std::int64_t residual_stride() const { return out + 3; }

  std::int64_t rows;
  std::int32_t in;
  std::int32_t out;
  Parts parts;
  std::int64_t x_stride;
  std::vector<float> x;
  std::vector<std::byte> w;
  std::vector<float> bias;
  std::vector<float> gain;
  std::vector<float> residual;
  Weight weight;
};

// What no kernel may write: the space between rows of y.
constexpr float kUntouched = 12345.0F;

class Runner {
 public:
  Runner(const KernelTable& table, const Problem& problem)
      : problem_(problem), scratch_(allocate_host(kLinearScratchBytes)) {
    for (const LinearKernel& candidate : table.linear) {
      if (candidate.format == problem.weight.format) kernel_ = &candidate;
    }
    check(kernel_ != nullptr, "the table has the format");
    packed_ = allocate_host(kernel_->packed_bytes(problem.weight));
    kernel_->pack(problem.weight, 0, panels(), packed_.data());
    y.assign(static_cast<std::size_t>(problem.rows * problem.y_stride()), kUntouched);
  }
  std::int64_t panels() const { return (problem_.out + kLanes - 1) / kLanes; }

  void run(std::int64_t row, std::int64_t rows, std::int64_t panel, std::int64_t count) {
    LinearCall call;
    call.packed = packed_.data();
    call.in_features = problem_.in;
    call.out_features = problem_.out;
    call.x = problem_.x.data() + row * problem_.x_stride;
    call.x_stride = problem_.x_stride;
    call.rows = rows;
    call.y = y.data() + row * problem_.y_stride();
    call.y_stride = problem_.y_stride();
    if (problem_.parts.bias) call.bias = problem_.bias.data();
    if (problem_.parts.gelu) call.activation = KernelActivation::kGelu;
    if (problem_.parts.gain) call.gain = problem_.gain.data();
    if (problem_.parts.residual) {
      call.residual = problem_.residual.data() + row * problem_.residual_stride();
      call.residual_stride = problem_.residual_stride();
    }
    call.panel = panel;
    call.panels = count;
    call.scratch = scratch_.data();
    kernel_->run(call);
  }
  const std::vector<float>& whole() {
    run(0, problem_.rows, 0, panels());
    return y;
  }

  std::vector<float> y;

 private:
  const Problem& problem_;
  const LinearKernel* kernel_ = nullptr;
  Buffer packed_;
  Buffer scratch_;
};

float one_gelu(float value) {
  return gelu<scalar::Lanes>(scalar::Lanes::set(value)).v[0];
}

// The definition, one output at a time.
std::vector<float> defined(const Problem& problem) {
  std::vector<float> y(static_cast<std::size_t>(problem.rows * problem.y_stride()), kUntouched);
  std::vector<float> row(static_cast<std::size_t>(problem.in));
  const WeightFormat& format = *problem.weight.format;
  for (std::int32_t o = 0; o < problem.out; ++o) {
    const auto at = static_cast<std::size_t>(o);
    format.decode_row(problem.weight, o, row);
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      const float* x = problem.x.data() + r * problem.x_stride;
      float value = 0;
      for (std::int32_t first = 0, end = 0; first < problem.in; first = end) {
        end = format.segment_end(problem.weight, first);
        float sum = 0;
        for (std::int32_t k = first; k < end; ++k)
          sum = std::fma(x[k], row[static_cast<std::size_t>(k)], sum);
        value = value + sum;
      }
      if (problem.parts.bias) value += problem.bias[at];
      if (problem.parts.gelu) value = one_gelu(value);
      const float residual =
          problem.residual[static_cast<std::size_t>(r * problem.residual_stride() + o)];
      if (problem.parts.gain) {
        value = problem.parts.residual ? std::fma(problem.gain[at], value, residual)
                                       : problem.gain[at] * value;
      } else if (problem.parts.residual) {
        value = residual + value;
      }
      y[static_cast<std::size_t>(r * problem.y_stride() + o)] = value;
    }
  }
  return y;
}

const WeightFormat* const kFormats[]{&kFormatF32, &kFormatF16, &kFormatBF16};

void expect_defined(const Problem& problem) {
  const std::vector<float> expected = defined(problem);
  for (const KernelTable* table : tables_here()) {
    Runner runner(*table, problem);
    EXPECT_TRUE(same_bits(runner.whole(), expected))
        << table->isa << " " << problem.weight.format->name << " rows " << problem.rows << " in "
        << problem.in << " out " << problem.out << " x_stride " << problem.x_stride;
  }
}

TEST(Linear, EveryTableGivesTheDefinedBitsForAnyShape) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 12, 29}) {
      for (const std::int32_t in : {1, 2, 7, 16, 255, 256, 257, 600}) {
        for (const std::int32_t out : {1, 7, 16, 17, 40}) expect_defined({*format, rows, in, out});
      }
    }
  }
}

TEST(Linear, EveryTableGivesTheDefinedBitsForManyPanels) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 2, 3, 4, 29, 64}) {
      for (const std::int32_t out : {255, 256, 300}) expect_defined({*format, rows, 513, out});
    }
  }
}

TEST(Linear, TheDecodersShapesGiveTheDefinedBits) {
  for (const LinearShape& shape : kDecoderShapes) {
    for (const std::int64_t rows : {1, 5}) {
      expect_defined({kFormatBF16, rows, shape.in, std::min(shape.out, 80)});
    }
  }
}

TEST(Linear, EpiloguePartsCombineAsDefined) {
  for (const Parts& parts : kAll) {
    for (const std::int64_t rows : {1, 4, 31}) {
      expect_defined({kFormatF32, rows, 300, 37, parts});
      expect_defined({kFormatBF16, rows, 40, 48, parts});
    }
  }
}

TEST(Linear, RowsOfXMayOverlap) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 3, 29}) {
      expect_defined({*format, rows, 56, 33, {.bias = true}, 16});
      expect_defined({*format, rows, 257, 33, kPlain, 1});
    }
  }
}

TEST(Linear, NeighboursInTheBatchChangeNoBit) {
  for (const WeightFormat* format : kFormats) {
    const Problem problem(*format, 64, 600, 77, {.bias = true, .gelu = true});
    for (const KernelTable* table : tables_here()) {
      Runner whole(*table, problem);
      whole.whole();
      for (const std::int64_t slice : {1, 2, 3, 4, 5, 12, 29}) {
        Runner parts(*table, problem);
        for (std::int64_t row = 0; row < problem.rows; row += slice) {
          parts.run(row, std::min(slice, problem.rows - row), 0, parts.panels());
        }
        EXPECT_TRUE(same_bits(parts.y, whole.y))
            << table->isa << " " << format->name << " " << slice;
      }
    }
  }
}

TEST(Linear, CutsOfThePanelsChangeNoBit) {
  for (const WeightFormat* format : kFormats) {
    for (const std::int64_t rows : {1, 3, 30}) {
      const Problem problem(*format, rows, 300, 16 * 21 + 3, {.bias = true, .residual = true});
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

TEST(Linear, SumsAreAsCloseToDoubleAsTheirLengthAllows) {
  const std::int32_t in = 3584;
  const Problem problem(kFormatF32, 5, in, 32);
  const auto* w = static_cast<const float*>(static_cast<const void*>(problem.w.data()));
  // A chain of 256 roundings, 14 additions and a margin of one.
  const double bound = (256 + 14 + 1) * std::ldexp(1.0, -24);
  for (const KernelTable* table : tables_here()) {
    Runner runner(*table, problem);
    runner.whole();
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      for (std::int64_t o = 0; o < problem.out; ++o) {
        double sum = 0;
        double magnitude = 0;
        for (std::int64_t k = 0; k < in; ++k) {
          const double term = static_cast<double>(problem.x[static_cast<std::size_t>(r * in + k)]) *
                              static_cast<double>(w[o * in + k]);
          sum += term;
          magnitude += std::fabs(term);
        }
        const float y = runner.y[static_cast<std::size_t>(r * problem.y_stride() + o)];
        EXPECT_NEAR(static_cast<double>(y), sum, bound * magnitude) << table->isa;
      }
    }
  }
}

TEST(Linear, EveryMachineGivesTheCommittedBits) {
  constexpr std::uint64_t kExpected[]{0x5286cc37d78a9510u, 0xf69ba945e8e49961u,
                                      0xeb09a940f272721fu};
  const Parts parts{.bias = true, .gain = true, .residual = true};
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    const Problem problem(*kFormats[i], 29, 601, 83, parts);
    for (const KernelTable* table : tables_here()) {
      Runner runner(*table, problem);
      EXPECT_EQ(digest(runner.whole()), kExpected[i]) << table->isa << " " << kFormats[i]->name;
    }
  }
}

}  // namespace
}  // namespace verbatim
