// The transform against its definition, and the bits themselves.
#include "audio/fft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace verbatim {
namespace {

struct Spectrum {
  std::vector<double> re;
  std::vector<double> im;
};

Spectrum transformed(const std::vector<double>& samples) {
  RealFft fft(static_cast<std::int32_t>(samples.size()));
  const std::size_t bins = samples.size() / 2 + 1;
  Spectrum spectrum{std::vector<double>(bins), std::vector<double>(bins)};
  fft.transform(samples, spectrum.re, spectrum.im);
  return spectrum;
}

Spectrum by_definition(const std::vector<double>& samples) {
  const std::size_t size = samples.size();
  std::vector<double> cosines(size), sines(size);
  for (std::size_t k = 0; k < size; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
    cosines[k] = std::cos(angle);
    sines[k] = std::sin(angle);
  }
  Spectrum spectrum;
  for (std::size_t k = 0; k <= size / 2; ++k) {
    double re = 0;
    double im = 0;
    for (std::size_t j = 0; j < size; ++j) {
      re += samples[j] * cosines[j * k % size];
      im -= samples[j] * sines[j * k % size];
    }
    spectrum.re.push_back(re);
    spectrum.im.push_back(im);
  }
  return spectrum;
}

std::vector<double> noise(std::size_t size) {
  std::mt19937_64 random(size);
  std::vector<double> samples(size);
  for (double& sample : samples) sample = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return samples;
}

void expect_definition(std::size_t size) {
  const std::vector<double> samples = noise(size);
  const Spectrum found = transformed(samples);
  const Spectrum expected = by_definition(samples);
  double largest = 0;
  for (std::size_t k = 0; k <= size / 2; ++k) {
    largest = std::max(largest, std::abs(found.re[k] - expected.re[k]));
    largest = std::max(largest, std::abs(found.im[k] - expected.im[k]));
  }
  // Both err by some ulps of the root of the sum of squares; the definition by more of them.
  EXPECT_LT(largest, 1e-15 * static_cast<double>(size) + 1e-15) << "size " << size;
}

TEST(RealFft, EverySmallSizeIsTheDefinition) {
  for (std::size_t size = 1; size <= 130; ++size) expect_definition(size);
}

TEST(RealFft, LargerSizesAreTheDefinition) {
  for (const std::size_t size : {400, 401, 442, 480, 512, 625, 1009, 1024, 1536, 2187, 3125, 4096})
    expect_definition(size);
}

TEST(RealFft, AnImpulseIsFlatAndAConstantIsOneBin) {
  for (const std::size_t size : {2, 3, 4, 5, 6, 60, 400}) {
    std::vector<double> samples(size, 0.0);
    samples[0] = 1;
    const Spectrum impulse = transformed(samples);
    samples.assign(size, 1.0);
    const Spectrum constant = transformed(samples);
    for (std::size_t k = 0; k <= size / 2; ++k) {
      EXPECT_EQ(impulse.re[k], 1) << size << " " << k;
      EXPECT_EQ(impulse.im[k], 0) << size << " " << k;
      EXPECT_NEAR(constant.re[k], k == 0 ? static_cast<double>(size) : 0, 1e-13)
          << size << " " << k;
      EXPECT_NEAR(constant.im[k], 0, 1e-13) << size << " " << k;
    }
  }
}

TEST(RealFft, ATransformLeavesNothingForTheNext) {
  const std::vector<double> samples = noise(400);
  const Spectrum alone = transformed(samples);
  RealFft fft(400);
  Spectrum second = alone;
  fft.transform(std::vector<double>(400, 1e300), second.re, second.im);
  fft.transform(samples, second.re, second.im);
  EXPECT_EQ(second.re, alone.re);
  EXPECT_EQ(second.im, alone.im);
}

// A digest of the bits of every bin: the same with every compiler, machine and set of lanes.
TEST(RealFft, TheBitsAreThoseOfEveryMachine) {
  const auto digest = [](std::size_t size) {
    const Spectrum spectrum = transformed(noise(size));
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k <= size / 2; ++k)
      for (const double part : {spectrum.re[k], spectrum.im[k]})
        hash = (hash ^ std::bit_cast<std::uint64_t>(part + 0.0)) * 0x100000001b3U;
    return hash;
  };
  EXPECT_EQ(digest(400), 4482502432862335774U);
  EXPECT_EQ(digest(363), 6597627259720177788U);
}

}  // namespace
}  // namespace verbatim
