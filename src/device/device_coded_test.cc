// Weights in codes on a device: what has no kernel, because its groups are too short for one, runs
// as its widened rows do; rows are rounded as the format says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "device/small_run.h"

namespace verbatim {
namespace {

constexpr std::int32_t kOut = 21;
constexpr std::int32_t kIn = 100;

// Nibbles with one scale for each `group` input features.
struct Coded {
  explicit Coded(std::int32_t group, const WeightFormat& format = kFormatInt4) {
    for (std::int32_t i = 0; i < kOut * kIn / 2; ++i)
      codes.push_back(static_cast<std::byte>((i * 37 + 11) & 255));
    for (std::int32_t i = 0; i < kOut * ((kIn + group - 1) / group); ++i)
      scales.push_back(0.01F + 0.001F * static_cast<float>(i % 7));
    weight.format = &format;
    weight.out_features = kOut;
    weight.in_features = kIn;
    weight.group = group;
    weight.planes[0] = codes;
    weight.planes[1] = std::as_bytes(std::span(scales));
  }
  std::vector<std::byte> codes;
  std::vector<float> scales;
  Weight weight;
};

TEST(CodedWeights, GroupsOfAnyLengthRun) {
  for (const std::int32_t group : {2, 4, 10, 20, 50, 100}) {
    const Coded coded(group);
    const std::unique_ptr<Device> device = cpu_with(2);
    device->set_arena(Arena(device->allocate(std::size_t{1} << 20)));
    const std::unique_ptr<DeviceWeight> placed = device->prepare(coded.weight, Use::kProjection);
    EXPECT_EQ(placed->bytes, device->weight_bytes(coded.weight, Use::kProjection)) << group;
    for (const std::int64_t rows : {1, 3, 30}) {
      std::vector<float> x(static_cast<std::size_t>(rows * kIn));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = 0.25F * static_cast<float>(static_cast<int>(i * 29 % 17) - 8);
      Linear linear;
      linear.weight = placed.get();
      const Tensor y = device->linear(host_rows(x, rows), linear);
      std::vector<float> row(kIn);
      for (std::int32_t o = 0; o < kOut; ++o) {
        kFormatInt4.decode_row(coded.weight, o, row);
        for (std::int64_t r = 0; r < rows; ++r) {
          double sum = 0;
          for (std::int32_t k = 0; k < kIn; ++k) {
            sum += static_cast<double>(x[static_cast<std::size_t>(r * kIn + k)]) *
                   static_cast<double>(row[static_cast<std::size_t>(k)]);
          }
          EXPECT_NEAR(y.row<const float>(r)[static_cast<std::size_t>(o)], sum, 1e-4)
              << "group " << group << ", row " << r << ", output " << o;
        }
      }
    }
  }
}

// x as kInt8Asymmetric leaves it.
std::vector<float> rounded(std::span<const float> x) {
  const float low = std::min(0.0F, *std::min_element(x.begin(), x.end()));
  const float high = std::max(0.0F, *std::max_element(x.begin(), x.end()));
  const float scale = (high - low) / 255;
  const float zero = -128 - std::nearbyint(low / scale);
  std::vector<float> made;
  for (const float value : x) {
    const float code = std::nearbyint(value * (1 / scale)) + zero;
    made.push_back((std::clamp(code, -128.0F, 127.0F) - zero) * scale);
  }
  return made;
}

TEST(CodedWeights, RowsWithAZeroAreRoundedEachByItself) {
  const Coded coded(32, kFormat8da4w);
  std::vector<float> x(30 * kIn);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 0.07F * static_cast<float>(static_cast<int>(i * 29 % 101) - 20);
  std::vector<float> whole;
  for (const int threads : {1, 3}) {
    for (const std::int64_t rows : {30, 4, 1}) {
      const std::unique_ptr<Device> device = cpu_with(threads);
      device->set_arena(Arena(device->allocate(std::size_t{1} << 20)));
      const std::unique_ptr<DeviceWeight> placed = device->prepare(coded.weight, Use::kProjection);
      EXPECT_EQ(placed->bytes, device->weight_bytes(coded.weight, Use::kProjection));
      Linear linear;
      linear.weight = placed.get();
      const auto count = static_cast<std::size_t>(rows * kIn);
      const Tensor y = device->linear(host_rows(std::span(x).first(count), rows), linear);
      std::vector<float> decoded(kIn);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::span<const float> row = y.row<const float>(r);
        if (whole.size() < 30 * kOut) {
          whole.insert(whole.end(), row.begin(), row.end());
          const std::vector<float> q = rounded(std::span(x).subspan(r * kIn, kIn));
          for (std::int32_t o = 0; o < kOut; ++o) {
            kFormat8da4w.decode_row(coded.weight, o, decoded);
            const double sum = std::inner_product(q.begin(), q.end(), decoded.begin(), 0.0);
            EXPECT_NEAR(row[static_cast<std::size_t>(o)], sum, 1e-4) << r << " " << o;
          }
        }
        EXPECT_TRUE(std::equal(row.begin(), row.end(), whole.begin() + r * kOut))
            << threads << " threads, " << rows << " rows, row " << r;
      }
    }
  }
}

// Rows that were rounded for one weight serve the next one only where they were rounded alike.
TEST(CodedWeights, ProjectedTogetherTheyMakeWhatTheyMakeAlone) {
  const std::unique_ptr<Device> device = cpu_with(2);
  device->set_arena(Arena(device->allocate(std::size_t{1} << 20)));
  std::vector<Coded> coded;
  for (const std::int32_t group : {32, 32, 48}) coded.emplace_back(group, kFormatW4A8);
  coded.emplace_back(48, kFormat8da4w);
  coded.emplace_back(48, kFormatInt4);
  coded.emplace_back(48, kFormatW4A8);
  std::vector<std::unique_ptr<DeviceWeight>> placed;
  std::vector<Linear> w(coded.size());
  for (std::size_t i = 0; i < coded.size(); ++i) {
    placed.push_back(device->prepare(coded[i].weight, Use::kProjection));
    w[i].weight = placed.back().get();
  }
  for (const std::int64_t rows : {1, 30}) {
    std::vector<float> values(static_cast<std::size_t>(rows * kIn));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.25F * static_cast<float>(static_cast<int>(i * 29 % 17) - 3);
    const Tensor x = host_rows(values, rows);
    const auto together = device->project(x, w[0], w[1], w[2], w[3], w[4], w[5]);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const Tensor alone = device->linear(x, w[i]);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto expected = alone.row<const float>(r);
        const auto found = together[i].row<const float>(r);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin()))
            << "weight " << i << ", row " << r << " of " << rows;
      }
    }
  }
}

}  // namespace
}  // namespace verbatim
