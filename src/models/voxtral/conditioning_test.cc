// The time embedding against the specification's golden values, and the factors against their
// formula.
#include "models/voxtral/conditioning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace verbatim::voxtral {
namespace {

TEST(TimeEmbedding, EqualsTheReferencesValues) {
  struct Golden {
    std::int32_t delay;
    double sum;
    std::vector<std::pair<std::size_t, float>> values;
  };
  const std::vector<Golden> goldens{
      {1, 1653.95823, {{0, 0.5403023F}, {1, 0.5453233F}, {767, 0.9999494F}, {1536, 0.8414710F}}},
      {6, 1366.91593, {{0, 0.9601703F}, {2, 0.9377468F}, {1537, -0.3136698F}, {3071, 0.0006036F}}},
      {30, 1126.90029, {{0, 0.1542515F}, {1, -0.0244777F}, {1535, 0.9999955F}, {2304, 0.2955202F}}},
  };
  for (const Golden& golden : goldens) {
    const std::vector<float> embedding = time_embedding(golden.delay, 3072);
    ASSERT_EQ(embedding.size(), 3072U);
    EXPECT_NEAR(std::accumulate(embedding.begin(), embedding.end(), 0.0), golden.sum, 2e-3);
    for (const auto& [index, value] : golden.values)
      EXPECT_NEAR(embedding[index], value, 2e-6F) << golden.delay << " at " << index;
  }
}

TEST(DelayScale, IsOnePlusTheNetworksAnswer) {
  const std::vector<float> embedding{0.5F, -1.0F};
  const std::vector<float> down{1.0F, 2.0F, -1.0F, 0.5F, 0.25F, 0.0F};  // [3, 2]
  const std::vector<float> up{1.0F, 0.0F, 2.0F, -1.0F, 3.0F, 0.5F};     // [2, 3]
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
  const double inner[] = {gelu(-1.5), gelu(-1.0), gelu(0.125)};
  const std::vector<float> scale = delay_scale(embedding, down, up);
  ASSERT_EQ(scale.size(), 2U);
  EXPECT_NEAR(scale[0], 1 + inner[0] + 2 * inner[2], 1e-7);
  EXPECT_NEAR(scale[1], 1 - inner[0] + 3 * inner[1] + 0.5 * inner[2], 1e-7);
}

// Values worked out by hand: a scale of 1 / 64, in which the inputs are no whole numbers.
TEST(DelayScale, RoundsBothInputsAsTheFormatDoes) {
  const std::vector<float> embedding{191.0F / 64, -1.0F, 0.3F};
  const std::vector<float> down{0.5F, 1.0F, 100.0F};  // [1, 3]
  const std::vector<float> up{1.0F, 2.0F, 3.0F};      // [3, 1]
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); };
  const double inner = gelu(0.5 * 191 / 64 - 1 + 100 * 19.0 / 64);  // 0.3 * 64 is 19.2
  const std::vector<float> scale = delay_scale(embedding, down, up, Activations::kInt8Asymmetric);
  // The bottleneck's one value is its largest and has a code of its own.
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(scale[i], 1 + static_cast<double>(up[i]) * inner, 1e-5) << i;
}

}  // namespace
}  // namespace verbatim::voxtral
