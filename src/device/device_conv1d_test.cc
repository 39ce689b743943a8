// Causal convolutions: against their definition in double, and the same bytes however the rows
// come.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "device/small_run.h"

namespace verbatim {
namespace {

struct Case {
  std::int32_t out = 1;
  std::int32_t in = 1;
  std::int32_t kernel = 1;
  std::int32_t stride = 1;
  bool depthwise = false;
};

// The shapes of the encoders, kernels that no stride divides, contexts longer than a block, no
// context at all, and channels that fill no lane.
constexpr Case kCases[] = {{8, 1, 7, 1, false},  {5, 5, 7, 1, true},    {32, 32, 7, 1, true},
                           {16, 8, 4, 2, false}, {9, 3, 16, 8, false},  {12, 7, 5, 2, false},
                           {4, 6, 3, 3, false},  {20, 2, 11, 3, false}, {17, 16, 1, 1, false},
                           {40, 33, 8, 4, false}};

std::string text(const Case& c) {
  return formatted("%d to %d, kernel %d, stride %d%s", c.in, c.out, c.kernel, c.stride,
                   c.depthwise ? ", depthwise" : "");
}

class Convolution {
 public:
  Convolution(Device& device, const Case& shape, const WeightFormat& format)
      : dev_(device), shape_(shape), place_(device, 11) {
    const WeightFormat& kept = shape.depthwise ? kFormatF32 : format;
    const std::int32_t in = shape.depthwise ? 1 : shape.in;
    weights_ = rounded(kept, TestValues(21).uniforms(std::int64_t{shape.out} * shape.kernel * in));
    bias_ = TestValues(22).uniforms(shape.out);
    conv_.in_channels = shape.in;
    conv_.kernel = shape.kernel;
    conv_.stride = shape.stride;
    conv_.groups = shape.depthwise ? shape.in : 1;
    conv_.state = 3;  // other layers' context lies around it
    conv_.linear.weight = place_.weight(kept, weights_, shape.out);
    conv_.linear.bias = place_.rows(bias_, 1);
  }
  std::int64_t state_values() const { return 6 + std::int64_t{conv_.context()} * shape_.in; }

  // The samples of each span, and its state or null.
  struct Part {
    std::span<const float> x;
    ConvState* state = nullptr;
    bool last = false;
  };
  std::vector<std::vector<float>> run(const std::vector<Part>& parts,
                                      const Epilogue& epilogue = {}) {
    const ArenaScope scratch(dev_.arena());
    std::vector<float> all;
    std::vector<Span> spans;
    for (const Part& part : parts) {
      const auto rows = static_cast<std::int32_t>(part.x.size()) / shape_.in;
      const std::int32_t first = spans.empty() ? 0 : spans.back().first_row + spans.back().rows;
      spans.push_back({.first_row = first, .rows = rows, .last = part.last, .conv = part.state});
      all.insert(all.end(), part.x.begin(), part.x.end());
    }
    const Tensor x = host_rows(all, static_cast<std::int64_t>(all.size()) / shape_.in);
    const Spans batch = dev_.spans(spans);
    const Tensor y = dev_.conv1d(x, batch, conv_, epilogue);
    std::vector<std::vector<float>> made;
    for (const Span& frames : dev_.strided(batch, shape_.stride).host) {
      const Tensor part = y.slice(frames.first_row, frames.rows);
      made.emplace_back(static_cast<std::size_t>(part.rows * part.cols));
      dev_.download(std::as_writable_bytes(std::span(made.back())), part);
    }
    return made;
  }

  // y[t, o] = b[o] + sum of w[o, j, c] x[t s - P + j, c], with zeros around x; and the sum of the
  // magnitudes, which bounds the rounding.
  void expect_definition(std::span<const float> x, std::span<const float> y) const {
    const auto rows = static_cast<std::int64_t>(x.size()) / shape_.in;
    const std::int64_t frames = (rows + shape_.stride - 1) / shape_.stride;
    ASSERT_EQ(y.size(), static_cast<std::size_t>(frames * shape_.out));
    const std::int32_t in = shape_.depthwise ? 1 : shape_.in;
    for (std::int64_t t = 0; t < frames; ++t) {
      for (std::int32_t o = 0; o < shape_.out; ++o) {
        double sum = static_cast<double>(bias_[static_cast<std::size_t>(o)]);
        double size = std::fabs(sum);
        for (std::int32_t j = 0; j < shape_.kernel; ++j) {
          const std::int64_t row = t * shape_.stride - conv_.context() + j;
          if (row < 0 || row >= rows) continue;
          for (std::int32_t c = 0; c < in; ++c) {
            const std::int64_t from = row * shape_.in + (shape_.depthwise ? o : c);
            const std::int64_t tap = (std::int64_t{o} * shape_.kernel + j) * in + c;
            const double product = static_cast<double>(weights_[static_cast<std::size_t>(tap)]) *
                                   static_cast<double>(x[static_cast<std::size_t>(from)]);
            sum += product;
            size += std::fabs(product);
          }
        }
        ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(t * shape_.out + o)]), sum,
                    1e-6 * size)
            << text(shape_) << " frame " << t << " output " << o;
      }
    }
  }

 private:
  Device& dev_;
  Case shape_;
  TestPlace place_;
  std::vector<float> weights_;
  std::vector<float> bias_;
  Conv1d conv_;
};

ConvState fresh_state(std::int64_t values) {
  return {allocate_host(static_cast<std::size_t>(values) * sizeof(float)), values};
}

std::vector<float> rows_of(const Case& shape, std::int64_t rows, std::uint32_t seed = 31) {
  return TestValues(seed).uniforms(rows * shape.in);
}

// The clip in blocks of so many rows, the last one as long as what is left.
std::vector<float> in_blocks(Convolution& conv, const Case& shape, std::span<const float> clip,
                             std::int64_t rows) {
  ConvState state = fresh_state(conv.state_values());
  std::vector<float> made;
  const auto block = static_cast<std::size_t>(rows * shape.in);
  for (std::size_t at = 0; at < clip.size(); at += block) {
    const bool last = at + block >= clip.size();
    const auto part = clip.subspan(at, std::min(block, clip.size() - at));
    const std::vector<float> y = conv.run({{part, &state, last}})[0];
    made.insert(made.end(), y.begin(), y.end());
  }
  for (const std::int64_t edge : {std::int64_t{0}, conv.state_values() - 3}) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(state.at(edge, 3)[i], 0.0F) << "another layer's context";
  }
  return made;
}

TEST(DeviceConv1d, FollowsItsDefinitionWithZerosAroundTheClip) {
  const std::unique_ptr<Device> device = cpu_with(2);
  for (const Case& shape : kCases) {
    for (const WeightFormat* format : dense_formats()) {
      Convolution conv(*device, shape, *format);
      // Whole strides, and a ragged end that is filled with zeros; clips shorter than the kernel.
      for (const std::int64_t rows : {1, 2, 3, 5, 24, 77, 301}) {
        const std::vector<float> clip = rows_of(shape, rows);
        conv.expect_definition(clip, conv.run({{clip, nullptr, true}})[0]);
      }
    }
  }
}

TEST(DeviceConv1d, BlocksOfAnyWholeStridesAreTheClipByteForByte) {
  const std::unique_ptr<Device> device = cpu_with(2);
  for (const Case& shape : kCases) {
    Convolution conv(*device, shape, kFormatBF16);
    for (const std::int64_t rows : {1, 48, 97, 240}) {
      const std::vector<float> clip = rows_of(shape, rows);
      const std::vector<float> whole = conv.run({{clip, nullptr, true}})[0];
      for (const std::int64_t strides : {1, 2, 3, 7, 16, 1000}) {
        ASSERT_EQ(in_blocks(conv, shape, clip, strides * shape.stride), whole)
            << text(shape) << ", " << rows << " rows in blocks of " << strides * shape.stride;
      }
    }
  }
}

TEST(DeviceConv1d, CompanyAndThreadsDoNotChangeABit) {
  const std::unique_ptr<Device> one = cpu_with(1);
  for (const Case& shape : kCases) {
    Convolution alone(*one, shape, kFormatF16);
    const std::int64_t counts[] = {48, 1000, 2, 30};  // whole strides, ragged where they are not
    std::vector<std::vector<float>> clips;
    std::vector<std::vector<float>> expected;
    for (std::uint32_t i = 0; i < std::size(counts); ++i) {
      clips.push_back(rows_of(shape, counts[i], 40 + i));
      expected.push_back(alone.run({{clips.back(), nullptr, true}})[0]);
    }
    for (const int threads : {1, 2, 3}) {
      const std::unique_ptr<Device> device = cpu_with(threads);
      Convolution conv(*device, shape, kFormatF16);
      std::vector<ConvState> states;
      std::vector<Convolution::Part> parts;
      for (std::size_t i = 0; i < clips.size(); ++i) {
        states.push_back(fresh_state(conv.state_values()));
      }
      for (std::size_t i = 0; i < clips.size(); ++i) {
        parts.push_back({clips[i], i % 2 == 0 ? &states[i] : nullptr, true});
      }
      ASSERT_EQ(conv.run(parts), expected) << text(shape) << ", " << threads << " threads";
    }
  }
}

TEST(DeviceConv1d, GainAndResidualEnterOnceInOneRounding) {
  const std::unique_ptr<Device> device = cpu_with(1);
  for (const Case& shape : {kCases[1], kCases[3]}) {
    Convolution conv(*device, shape, kFormatF32);
    const std::vector<float> clip = rows_of(shape, 200);
    const std::vector<float> plain = conv.run({{clip, nullptr, true}})[0];
    const std::vector<float> gain = TestValues(51).uniforms(shape.out);
    const std::vector<float> residual =
        TestValues(52).uniforms(static_cast<std::int64_t>(plain.size()));
    const Epilogue epilogue{.gain = host_rows(gain, 1),
                            .residual = host_rows(residual, 200 / shape.stride)};
    const std::vector<float> both = conv.run({{clip, nullptr, true}}, epilogue)[0];
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const float g = gain[i % static_cast<std::size_t>(shape.out)];
      ASSERT_EQ(both[i], std::fma(g, plain[i], residual[i])) << text(shape);
    }
  }
}

TEST(DeviceConv1d, BrokenPromisesAbort) {
  const std::unique_ptr<Device> device = cpu_with(1);
  const Case shape{9, 3, 16, 8, false};
  Convolution conv(*device, shape, kFormatF32);
  const std::vector<float> clip = rows_of(shape, 12);
  EXPECT_DEATH(conv.run({{clip, nullptr, false}}),
               "only the last rows of a sequence may be ragged");
  ConvState small = fresh_state(10);
  EXPECT_DEATH(conv.run({{clip, &small, true}}), "context lies inside the state");
}

}  // namespace
}  // namespace verbatim
