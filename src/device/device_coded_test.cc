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

}  // namespace
}  // namespace verbatim
