// Factors, what they make of a weight, and what they are for.
#include "weights/scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "weights/product_error.h"
#include "weights/test_values.h"

namespace verbatim {
namespace {

// One channel behind eleven whose factor is 1, so that their median is.
float scale_of(float input, float weight) {
  std::vector<float> inputs(11, 1.0F);
  std::vector<float> weights(11, 1.0F);
  inputs.push_back(input);
  weights.push_back(weight);
  return channel_scales(inputs, weights).back();
}

TEST(Scaling, FactorsAreThePowersOfTwoNextToTheRoot) {
  EXPECT_EQ(scale_of(1, 1), 1.0F);
  EXPECT_EQ(scale_of(1.99F, 1), 1.0F);
  EXPECT_EQ(scale_of(2, 1), 2.0F);  // the root of two is as near to 2 as to 1
  EXPECT_EQ(scale_of(7.9F, 1), 2.0F);
  EXPECT_EQ(scale_of(100, 1), 8.0F);
  EXPECT_EQ(scale_of(1, 0.01F), 8.0F);
  EXPECT_EQ(scale_of(0.5F, 1), 1.0F);
  EXPECT_EQ(scale_of(0.49F, 1), 0.5F);
  EXPECT_EQ(scale_of(0.01F, 1), 0.125F);
  EXPECT_EQ(scale_of(3, 300), 0.125F);
  for (const double ratio : {1e-4, 0.03, 0.7, 5.0, 33.0, 1e4}) {
    const float scale = scale_of(static_cast<float>(ratio), 1);
    EXPECT_LE(std::fabs(std::log2(static_cast<double>(scale)) - std::log2(ratio) / 2), 0.5);
  }
}

TEST(Scaling, ChannelsWithoutARangeStayAsTheyAre) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(scale_of(0, 1), 1.0F);
  EXPECT_EQ(scale_of(1000, 0), 1.0F);
  EXPECT_EQ(scale_of(1000, infinity), 1.0F);
  EXPECT_EQ(scale_of(1000, std::numeric_limits<float>::quiet_NaN()), 1.0F);
  EXPECT_EQ(channel_scales(std::vector<float>(3), std::vector<float>(3)),
            std::vector<float>(3, 1.0F));
}

TEST(Scaling, FactorsAreWithinAByteOfTheirMedian) {
  EXPECT_EQ(scale_of(1e30F, 1e-5F), 256.0F);
  EXPECT_EQ(scale_of(1e-30F, 1), 1.0F / 256);
  // Whatever all have in common is no channel's.
  const std::vector<float> inputs{1e6F, 1e6F, 4e6F, 1e6F, 1e6F};
  EXPECT_EQ(channel_scales(inputs, std::vector<float>(5, 1e-3F)),
            (std::vector<float>{1, 1, 2, 1, 1}));
}

TEST(Scaling, OnlyOutliersAreWorthIt) {
  std::vector<float> inputs = TestValues(9).uniforms(64, 0.3F, 1.0F);
  const std::vector<float> weights = TestValues(10).uniforms(64, 0.3F, 1.0F);
  EXPECT_TRUE(smoothing_scales(inputs, weights).empty());
  inputs[20] = 50;
  EXPECT_EQ(smoothing_scales(inputs, weights), channel_scales(inputs, weights));
  EXPECT_EQ(smoothing_scales(inputs, weights, &kFormatW8A8), channel_scales(inputs, weights));
  // Where a step of the weights is coarser, larger weights cost more.
  EXPECT_TRUE(smoothing_scales(inputs, weights, &kFormatW4A8).empty());
  EXPECT_TRUE(smoothing_scales(std::vector<float>(3), std::vector<float>(3)).empty());
}

const WeightFormat& format_of(const std::string& name) {
  for (const WeightFormat* format : dense_formats()) {
    if (format->name == name) return *format;
  }
  return kFormatF32;
}

struct Dense {
  Dense(const WeightFormat& format, const std::vector<float>& values, std::int32_t out)
      : bytes(stored(format, values)),
        weight(dense_weight(format, bytes, out, static_cast<std::int32_t>(values.size()) / out)) {}
  std::vector<std::byte> bytes;
  Weight weight;
};

std::vector<float> values_of(const Weight& weight) {
  const auto in = static_cast<std::size_t>(weight.in_features);
  std::vector<float> values(static_cast<std::size_t>(weight.out_features) * in);
  for (std::int32_t row = 0; row < weight.out_features; ++row) {
    weight.format->decode_row(weight, row,
                              std::span(values).subspan(static_cast<std::size_t>(row) * in, in));
  }
  return values;
}

TEST(Scaling, AWeightIsScaledToTheBitInEveryFormat) {
  constexpr std::int32_t kOut = 5, kIn = 7;
  const Scaling scaling{{1, 2, 0.5F, 256, 1.0F / 256, 8, 0.25F}, {4, 1, 0.5F, 1.0F / 256, 256}};
  ThreadPool workers(3, false);
  for (const char* name : {"f32", "f16", "bf16"}) {
    // Small enough that a half would lose bits.
    const Dense dense(format_of(name), TestValues(3).uniforms(kOut * kIn, 1e-3F), kOut);
    std::vector<float> expected = values_of(dense.weight);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = expected[i] * scaling.columns[i % kIn] / scaling.rows[i / kIn];
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &workers}) {
      WeightStorage storage;
      const Weight scaled = scaled_weight(dense.weight, scaling, storage, pool);
      EXPECT_EQ(values_of(scaled), expected) << name;
      EXPECT_STREQ(scaled.format->name, name == std::string("bf16") ? "bf16" : "f32");
    }
  }
}

TEST(Scaling, MaximaAreThoseOfTheColumnsWhoeverLooks) {
  const Dense dense(kFormatF32, TestValues(4).uniforms(33 * 9), 33);
  const std::vector<float> values = values_of(dense.weight);
  std::vector<float> expected(9);
  for (std::size_t i = 0; i < values.size(); ++i)
    expected[i % 9] = std::max(expected[i % 9], std::fabs(values[i]));
  ThreadPool workers(3, false);
  EXPECT_EQ(column_maxima(dense.weight, nullptr), expected);
  EXPECT_EQ(column_maxima(dense.weight, &workers), expected);
}

// Rows in which two channels of many are a hundred times the others, as in language models.
class Outliers {
 public:
  static constexpr std::int32_t kOut = 40, kIn = 96, kRows = 20;
  Outliers() : dense_(kFormatBF16, TestValues(5).uniforms(kOut * kIn, 0.1F), kOut) {
    rows_ = TestValues(6).uniforms(kRows * kIn);
    std::vector<float> inputs(kIn);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t channel = i % kIn;
      if (channel == 11 || channel == 70) rows_[i] *= 100;
      inputs[channel] = std::max(inputs[channel], std::fabs(rows_[i]));
    }
    scaling_.columns = channel_scales(inputs, column_maxima(dense_.weight, nullptr));
    scaling_.rows.assign(kOut, 2.0F);
  }
  double error(const char* choice, bool smoothed, ThreadPool* workers = nullptr) const {
    return product_error(dense_.weight, weight_choice("--quant", choice),
                         smoothed ? scaling_ : Scaling{}, rows_, "layer.fc", workers);
  }

 private:
  Dense dense_;
  std::vector<float> rows_;
  Scaling scaling_;
};

TEST(ProductError, OutliersDrownInt8RowsUnlessTheyAreSmoothed) {
  // Measured: 0.0195 and 0.0062.
  const Outliers product;
  const double plain = product.error("w8a8", false);
  const double smoothed = product.error("w8a8", true);
  EXPECT_GT(plain, 0.015);
  EXPECT_LT(smoothed, plain / 2);
}

TEST(ProductError, WhoComputesItChangesNoBit) {
  const Outliers product;
  ThreadPool workers(3, false);
  for (const char* choice : {"w8a8", "w4a8"}) {
    for (const bool smoothed : {false, true})
      EXPECT_EQ(product.error(choice, smoothed, &workers), product.error(choice, smoothed));
  }
}

TEST(ProductError, CoarserCodesLoseMoreAndNothingLosesNothing) {
  const Outliers product;
  EXPECT_LT(product.error("int8", false), product.error("w8a8", false));
  EXPECT_LT(product.error("w8a8", false), product.error("w4a8", false));
  const Dense zero(kFormatF32, std::vector<float>(12), 3);
  EXPECT_EQ(product_error(zero.weight, weight_choice("--quant", "w8a8"), {},
                          std::vector<float>(8, 1.0F), "layer.fc", nullptr),
            0.0);
  // Codes that are whole numbers, and rows that are: 127.5 is the largest of each.
  const std::vector<float> whole{-127.5F, 3, -127.5F, -7};
  const Dense exact(kFormatF32, whole, 2);
  EXPECT_LT(product_error(exact.weight, weight_choice("--quant", "w8a8"), {},
                          std::vector<float>{5, -127.5F}, "layer.fc", nullptr),
            0.005);
}

}  // namespace
}  // namespace verbatim
