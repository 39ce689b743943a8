// Bursts of a voice-like tone over soft noise stand for speech.
#include "cli/utterances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace verbatim {
namespace {

constexpr std::int32_t kRateHz = 16000;

class Sound {
 public:
  Sound& quiet(double seconds) { return add(seconds, 0); }
  // Syllables: no level stays.
  Sound& speech(double seconds, float level = 0.3F) { return add(seconds, level); }
  double seconds() const { return static_cast<double>(samples.size()) / kRateHz; }
  std::vector<float> samples;

 private:
  Sound& add(double seconds, float level) {
    const auto count = static_cast<std::size_t>(std::llround(seconds * kRateHz));
    for (std::size_t i = 0; i < count; ++i) {
      state_ = state_ * 1664525U + 1013904223U;
      const float noise = (static_cast<float>(state_ >> 8) * 0x1p-23F - 1) * 0.001F;
      const double t = static_cast<double>(i) / kRateHz;
      const double syllable = std::abs(std::sin(t * 10));
      const double tone = std::sin(t * 1300) * syllable * static_cast<double>(level);
      samples.push_back(noise + static_cast<float>(tone));
    }
    return *this;
  }
  std::uint32_t state_ = 1;
};

std::vector<Utterance> cut(const std::vector<float>& samples, double max_s = 30,
                           std::size_t block = 1280) {
  UtteranceCutter cutter(kRateHz, max_s);
  std::vector<Utterance> all;
  const auto take = [&] {
    for (Utterance& utterance : cutter.take()) all.push_back(std::move(utterance));
  };
  for (std::size_t at = 0; at < samples.size(); at += block) {
    cutter.push(std::span(samples).subspan(at, std::min(block, samples.size() - at)));
    take();
  }
  cutter.finish();
  take();
  return all;
}

double start_s(const Utterance& utterance) {
  return static_cast<double>(utterance.first) / kRateHz;
}

double length_s(const Utterance& utterance) {
  return static_cast<double>(utterance.samples.size()) / kRateHz;
}

TEST(Utterances, BlockSizesDoNotMoveACut) {
  const Sound sound =
      Sound().quiet(1).speech(1.3).quiet(0.5).speech(0.9).quiet(1.1).speech(4).quiet(0.1);
  const std::vector<Utterance> whole = cut(sound.samples, 2, sound.samples.size());
  ASSERT_GE(whole.size(), 3u);
  for (const std::size_t block : {1u, 319u, 320u, 1263u, 16000u}) {
    const std::vector<Utterance> other = cut(sound.samples, 2, block);
    ASSERT_EQ(other.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(other[i].first, whole[i].first);
      EXPECT_EQ(other[i].samples, whole[i].samples);
    }
  }
}

TEST(Utterances, SamplesAreThoseThatWereHeardThere) {
  const Sound sound = Sound().quiet(7).speech(1).quiet(2).speech(1).quiet(2);
  const std::vector<Utterance> all = cut(sound.samples);
  ASSERT_EQ(all.size(), 2u);
  for (const Utterance& utterance : all)
    EXPECT_TRUE(std::equal(utterance.samples.begin(), utterance.samples.end(),
                           sound.samples.begin() + utterance.first));
}

TEST(Utterances, SpeechHasAMarginOnBothSides) {
  const Sound sound = Sound().quiet(3).speech(2).quiet(3);
  const std::vector<Utterance> all = cut(sound.samples);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(start_s(all[0]), 3 - 0.4, 0.1);
  EXPECT_NEAR(start_s(all[0]) + length_s(all[0]), 5 + 0.3, 0.1);
}

TEST(Utterances, AShortPauseIsPartOfAnUtteranceAndALongOneEndsIt) {
  EXPECT_EQ(cut(Sound().quiet(1).speech(1).quiet(0.5).speech(1).quiet(1).samples).size(), 1u);
  EXPECT_EQ(cut(Sound().quiet(1).speech(1).quiet(0.9).speech(1).quiet(1).samples).size(), 2u);
}

TEST(Utterances, SilenceAndNoiseSayNothing) {
  EXPECT_TRUE(cut(Sound().quiet(60).samples).empty());
  EXPECT_TRUE(cut({}).empty());
}

TEST(Utterances, LongSpeechIsCutWhereItIsQuietestAndNothingIsLost) {
  // The pause is too short to end an utterance, and the best place within the last third.
  const Sound sound = Sound().quiet(1).speech(5).quiet(0.2).speech(9).quiet(1);
  const std::vector<Utterance> all = cut(sound.samples, 7);
  ASSERT_GE(all.size(), 2u);
  EXPECT_NEAR(start_s(all[1]), 6.1, 0.06);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_LE(length_s(all[i]), 7.0);
    if (i == 0) continue;
    EXPECT_EQ(all[i].first,
              all[i - 1].first + static_cast<std::int64_t>(all[i - 1].samples.size()));
  }
}

TEST(Utterances, AnUtteranceThatIsOpenAtTheEndIsGivenToItsLastSample) {
  Sound sound = Sound().quiet(1).speech(1.0123);
  const std::vector<Utterance> all = cut(sound.samples);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].first + static_cast<std::int64_t>(all[0].samples.size()),
            static_cast<std::int64_t>(sound.samples.size()));
}

TEST(Utterances, SpeechThatBeginsAtOnceIsWhole) {
  const std::vector<Utterance> all = cut(Sound().speech(1).quiet(2).samples);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].first, 0);
}

}  // namespace
}  // namespace verbatim
