// The gain of a clip against NumPy's.
#include "audio/loudness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace verbatim {
namespace {

// 16-bit noise from a linear congruence, `level` times full scale.
std::vector<float> noise(std::size_t samples, float level) {
  std::vector<float> values(samples);
  std::uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<std::int32_t>(state) >> 16) * 0x1p-15F * level;
  }
  return values;
}

Gain gain_of(const std::vector<float>& samples) {
  Loudness loudness;
  loudness.push(samples);
  return loudness.gain();
}

// Expected values: numpy 2.3.5 with the same samples x in float32,
//   rms = np.sqrt(np.mean(x**2)); s = 10 ** (-25 / 20) / (rms + 1e-6); m = np.max(np.abs(x * s))
TEST(Loudness, GainAgreesWithNumpy) {
  std::vector<float> quiet = noise(48000, 0.125F);
  const Gain gain = gain_of(quiet);
  EXPECT_NEAR(gain.scalar, 0.7795148F, 0.7795148 * 1e-6);
  EXPECT_EQ(gain.divisor, 1.0F);

  // One click stands so far out that it would pass full scale.
  std::vector<float> click = noise(48000, 0.0078125F);
  click[1000] = 0.75F;
  const Gain limited = gain_of(click);
  EXPECT_NEAR(limited.scalar, 9.931989F, 9.931989 * 1e-6);
  EXPECT_NEAR(limited.divisor, 7.4489927F, 7.4489927 * 1e-6);
  EXPECT_NEAR(limited(click[1000]), 1.0F, 1e-6);
  EXPECT_LT(limited(click[1000]), 1.0F);
}

TEST(Loudness, SilenceStaysSilence) {
  const Gain gain = gain_of(std::vector<float>(100, 0.0F));
  EXPECT_TRUE(std::isfinite(gain.scalar));
  EXPECT_EQ(gain(0.0F), 0.0F);
  EXPECT_EQ(gain_of({})(0.5F), 0.5F);
}

TEST(Loudness, BlockSizeDoesNotChangeBits) {
  const std::vector<float> samples = noise(10000, 0.3F);
  const Gain whole = gain_of(samples);
  for (const std::size_t block : {1, 79, 1920}) {
    Loudness loudness;
    for (std::size_t at = 0; at < samples.size(); at += block)
      loudness.push(std::span(samples).subspan(at, std::min(block, samples.size() - at)));
    EXPECT_EQ(loudness.gain().scalar, whole.scalar);
    EXPECT_EQ(loudness.gain().divisor, whole.divisor);
  }
}

}  // namespace
}  // namespace verbatim
