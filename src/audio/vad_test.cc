// Speech is what rises above its floor and falls again; a level that stays is none.
#include "audio/vad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace verbatim {
namespace {

constexpr std::int32_t kRate = 16000;

// Adds noise of a root mean square of about `level` to the samples of [start_s, end_s).
void add_noise(std::vector<float>& samples, double start_s, double end_s, float level) {
  std::uint32_t state = 99;
  for (auto i = static_cast<std::size_t>(start_s * kRate);
       i < static_cast<std::size_t>(end_s * kRate); ++i) {
    state = state * 1664525U + 1013904223U;
    samples[i] += static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F * 1.7F * level;
  }
}

std::vector<float> silence(double seconds) {
  return std::vector<float>(static_cast<std::size_t>(seconds * kRate), 0.0F);
}

std::vector<Interval> speech_in(const std::vector<float>& samples, std::size_t block = 1U << 30) {
  Vad vad(kRate);
  std::vector<Interval> found;
  for (std::size_t at = 0; at < samples.size(); at += block) {
    vad.push(std::span(samples).subspan(at, std::min(block, samples.size() - at)));
    for (const Interval& interval : vad.take()) found.push_back(interval);
  }
  vad.finish();
  for (const Interval& interval : vad.take()) found.push_back(interval);
  return found;
}

// Syllables of 150 ms every 250 ms over [start_s, end_s).
void add_syllables(std::vector<float>& samples, double start_s, double end_s, float level) {
  for (double at = start_s; at < end_s; at += 0.25) add_noise(samples, at, at + 0.15, level);
}

TEST(Vad, ALevelThatStaysIsNoSpeech) {
  EXPECT_TRUE(speech_in(silence(20)).empty());
  std::vector<float> noise = silence(20);
  add_noise(noise, 0, 20, 0.1F);
  EXPECT_TRUE(speech_in(noise).empty());
  std::vector<float> tone = silence(20);
  for (std::size_t i = 0; i < tone.size(); ++i)
    tone[i] = static_cast<float>(
        0.3 + 0.3 * std::sin(2 * std::numbers::pi * 440 * static_cast<double>(i) / kRate));
  EXPECT_TRUE(speech_in(tone).empty());
}

TEST(Vad, SyllablesAreOneIntervalWithinAFewFrames) {
  std::vector<float> samples = silence(12);
  add_syllables(samples, 2, 5, 0.1F);
  add_syllables(samples, 7, 11, 0.1F);
  const std::vector<Interval> found = speech_in(samples);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found[0].start_s, 2, 0.03);
  EXPECT_NEAR(found[0].end_s, 4.9, 0.07);
  EXPECT_NEAR(found[1].start_s, 7, 0.03);
  EXPECT_NEAR(found[1].end_s, 10.9, 0.07);
}

TEST(Vad, TheFloorFollowsTheNoise) {
  std::vector<float> samples = silence(20);
  add_noise(samples, 0, 20, 0.01F);
  add_syllables(samples, 10, 14, 0.1F);
  const std::vector<Interval> found = speech_in(samples);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].start_s, 10, 0.03);
  EXPECT_NEAR(found[0].end_s, 13.9, 0.07);
  // Speech that hardly stands out of the noise is none.
  std::vector<float> drowned = silence(20);
  add_noise(drowned, 0, 20, 0.1F);
  add_syllables(drowned, 10, 14, 0.05F);
  EXPECT_TRUE(speech_in(drowned).empty());
}

TEST(Vad, NoiseThatSetsInIsSpeechForNoLongerThanTheFloorNeeds) {
  std::vector<float> samples = silence(30);
  add_noise(samples, 10, 30, 0.1F);
  const std::vector<Interval> found = speech_in(samples);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].start_s, 10, 0.03);
  EXPECT_LT(found[0].end_s, 13.1);
}

TEST(Vad, AClickIsNoSpeech) {
  std::vector<float> samples = silence(5);
  samples[2 * kRate] = 1;
  EXPECT_TRUE(speech_in(samples).empty());
}

TEST(Vad, WhatNobodyHearsIsNoSpeech) {
  std::vector<float> samples = silence(8);
  add_syllables(samples, 2, 6, 0.0005F);
  EXPECT_TRUE(speech_in(samples).empty());
}

TEST(Vad, SpeechUpToTheEndIsClosedByFinish) {
  std::vector<float> samples = silence(4);
  add_syllables(samples, 2, 3.9, 0.1F);
  const std::vector<Interval> found = speech_in(samples);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LE(found[0].end_s, 4.0);
}

TEST(Vad, BlockSizeChangesNothing) {
  std::vector<float> samples = silence(12);
  add_noise(samples, 0, 12, 0.003F);
  add_syllables(samples, 2, 5, 0.1F);
  add_syllables(samples, 7, 11, 0.05F);
  const std::vector<Interval> whole = speech_in(samples);
  for (const std::size_t block : {1, 79, 1280}) {
    const std::vector<Interval> parts = speech_in(samples, block);
    ASSERT_EQ(parts.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(parts[i].start_s, whole[i].start_s);
      EXPECT_EQ(parts[i].end_s, whole[i].end_s);
    }
  }
}

}  // namespace
}  // namespace verbatim
