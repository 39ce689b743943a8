// Draws follow the distribution that temperature and nucleus make of the logits, and are the same
// everywhere for one seed.
#include "nn/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace verbatim {
namespace {

// How often each of the logits is drawn.
std::vector<double> shares(const std::vector<float>& logits, double temperature, double top_p,
                           int draws, std::uint64_t seed = 1) {
  Sampler sampler(temperature, top_p, seed);
  std::vector<double> counts(logits.size());
  for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(sampler.draw(logits))];
  for (double& count : counts) count /= draws;
  return counts;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> made;
  double sum = 0;
  for (const float logit : logits) {
    made.push_back(std::exp(static_cast<double>(logit) / temperature));
    sum += made.back();
  }
  for (double& value : made) value /= sum;
  return made;
}

void expect_shares(const std::vector<double>& found, const std::vector<double>& expected,
                   int draws) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double p = expected[i];
    // Five standard deviations of a count, and the draws are always the same ones.
    EXPECT_NEAR(found[i], p, 5 * std::sqrt(p * (1 - p) / draws)) << "token " << i;
  }
}

// PCG-XSH-RR 64/32 and SplitMix64 written a second time, in Python.
TEST(RandomBits, TheFirstNumbersAreThoseOfThePublishedGenerator) {
  const std::pair<std::uint64_t, std::vector<std::uint32_t>> golden[] = {
      {0, {0x412162a4U, 0x109e014aU, 0x3dfa6d1dU, 0x521a81b8U, 0x7935900dU, 0x30715e95U}},
      {1, {0x4d700850U, 0xfe55874eU, 0x02afcbdeU, 0x4aed552dU, 0xf8d07d11U, 0xba11e880U}},
      {42, {0xc754f975U, 0x69702243U, 0xee7b157fU, 0x2c4fdd99U, 0x860640d5U, 0x51be52bcU}},
      {~std::uint64_t{0},
       {0xb2908289U, 0x4f29f10fU, 0x2db93d27U, 0x51568fe4U, 0x85c5c43aU, 0x04588a3dU}}};
  for (const auto& [seed, numbers] : golden) {
    RandomBits random(seed);
    for (const std::uint32_t number : numbers) EXPECT_EQ(random.next(), number) << "seed " << seed;
  }
}

TEST(RandomBits, UniformsHave53BitsAndStayBelowOne) {
  RandomBits random(7);
  const double golden[] = {0x1.6a3cbfda7fde0p-3, 0x1.2937557fd56f2p-2, 0x1.13328a518082ap-1,
                           0x1.437cc82d58a74p-3};
  for (const double value : golden) EXPECT_EQ(random.uniform(), value);
  double sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.uniform();
    ASSERT_TRUE(value >= 0 && value < 1);
    sum += value;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
}

TEST(RandomBits, NormalsHaveTheMomentsOfTheStandardNormal) {
  RandomBits first(7);
  const double golden[] = {-0.15611523061633514, 0.6040854636124051, 0.6788488772912493,
                           1.039884551944742};
  for (const double value : golden) EXPECT_NEAR(first.normal(), value, 1e-15);
  RandomBits random(8);
  constexpr int kDraws = 200000;
  double sum = 0, square = 0, fourth = 0, product = 0, before = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.normal();
    sum += value;
    square += value * value;
    fourth += value * value * value * value;
    product += value * before;  // the two values of one pair do not depend on each other
    before = value;
  }
  const double sigma = std::sqrt(1.0 / kDraws);
  EXPECT_NEAR(sum / kDraws, 0, 5 * sigma);
  EXPECT_NEAR(square / kDraws, 1, 5 * std::sqrt(2.0) * sigma);
  EXPECT_NEAR(fourth / kDraws, 3, 5 * std::sqrt(96.0) * sigma);
  EXPECT_NEAR(product / kDraws, 0, 5 * sigma);
}

TEST(Sampler, DrawsFollowTheSoftmaxAtItsTemperature) {
  const std::vector<float> logits{0.3F, 2.0F, -1.0F, 1.1F, 0.3F, -4.0F};
  constexpr int kDraws = 60000;
  for (const double temperature : {0.5, 1.0, 3.0}) {
    expect_shares(shares(logits, temperature, 1.0, kDraws), softmax(logits, temperature), kDraws);
  }
}

TEST(Sampler, TheNucleusIsTheSmallestSetThatReachesTopP) {
  // Probabilities 0.5, 0.25, 0.125, 0.125 in another order; the logs are not exact, so top_p keeps
  // away from the sums.
  const std::vector<float> logits{std::log(0.125F), std::log(0.5F), std::log(0.125F),
                                  std::log(0.25F)};
  constexpr int kDraws = 60000;
  const auto nucleus = [&](double top_p) { return shares(logits, 1.0, top_p, kDraws); };
  expect_shares(nucleus(0.1), {0, 1, 0, 0}, kDraws);
  expect_shares(nucleus(0.49), {0, 1, 0, 0}, kDraws);
  expect_shares(nucleus(0.51), {0, 2.0 / 3, 0, 1.0 / 3}, kDraws);
  expect_shares(nucleus(0.74), {0, 2.0 / 3, 0, 1.0 / 3}, kDraws);
  // Of the two equal ones the lower id enters first.
  expect_shares(nucleus(0.76), {1.0 / 7, 4.0 / 7, 0, 2.0 / 7}, kDraws);
  expect_shares(nucleus(0.9), {0.125, 0.5, 0.125, 0.25}, kDraws);
  expect_shares(nucleus(1.0), {0.125, 0.5, 0.125, 0.25}, kDraws);
}

TEST(Sampler, EqualLogitsEnterTheNucleusByTheirId) {
  const std::vector<float> logits(8, 3.0F);
  const std::vector<double> half = shares(logits, 1.0, 0.5, 20000);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(half[i] > 0, i < 4) << i;
  EXPECT_EQ(shares(logits, 1.0, 1e-9, 100)[0], 1.0);
  const std::vector<float> pair{1.0F, 5.0F, 5.0F, 1.0F};
  EXPECT_EQ(shares(pair, 0.01, 0.4, 100)[1], 1.0);
}

TEST(Sampler, OneSeedDrawsOneSequence) {
  std::vector<float> logits(1000);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 7919) % 1000) / 200.0F;
  }
  const auto drawn = [&](std::uint64_t seed) {
    Sampler sampler(1.0, 0.95, seed);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(sampler.draw(logits));
    return tokens;
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
  EXPECT_NE(drawn(0), drawn(1));
}

TEST(Sampler, ExtremeLogitsAndTemperaturesStillDrawTheBest) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(shares({1.0F, 1.0001F, 0.5F}, 1e-7, 1.0, 200)[1], 1.0);
  EXPECT_EQ(shares({-3e38F, 3e38F, 0.0F}, 0.1, 1.0, 200)[1], 1.0);
  const std::vector<double> found = shares({kNever, 0.0F, kNever, 0.0F}, 1e6, 1.0, 2000);
  EXPECT_EQ(found[0] + found[2], 0.0);
  EXPECT_GT(found[1], 0.4);
  EXPECT_GT(found[3], 0.4);
  EXPECT_EQ(shares({-7.0F}, 1.0, 0.5, 10)[0], 1.0);
}

TEST(Sampler, NanIsNeverDrawnBesideANumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kEver = std::numeric_limits<float>::infinity();
  std::vector<float> logits(300, kNan);
  for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = 1.0F;
  const std::vector<double> found = shares(logits, 1.0, 1.0, 2000);
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_TRUE(i % 3 == 0 || found[i] == 0) << i;
  // Without a number, or beside infinity, it is the lowest id of the largest.
  EXPECT_EQ(shares({kNan, kNan}, 1.0, 1.0, 5)[0], 1.0);
  EXPECT_EQ(shares({-kEver, kNan, -kEver}, 1.0, 0.5, 5)[0], 1.0);
  EXPECT_EQ(shares({1.0F, kEver, kEver}, 1.0, 1.0, 5)[1], 1.0);
}

TEST(SamplerDeathTest, AnImpossibleTemperatureOrNucleusAborts) {
  EXPECT_DEATH(Sampler(0, 1, 0), "a temperature and a nucleus");
  EXPECT_DEATH(Sampler(1, 0, 0), "a temperature and a nucleus");
  EXPECT_DEATH(Sampler(1, 1.5, 0), "a temperature and a nucleus");
}

}  // namespace
}  // namespace verbatim
