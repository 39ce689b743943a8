// A decoder that says nothing while somebody speaks hears the stretch again, and no audio is lost;
// what a session hears and when, without a model.
#include <gtest/gtest.h>

#include "models/voxtral/stub_run.h"

namespace verbatim::voxtral {
namespace {

using Heard = StubRun::Heard;

constexpr double kTokenS = 0.08;
constexpr std::int64_t kLeftPad = 32;

std::int32_t always_pad(const std::vector<Heard>&) {
  return kStubPad;
}

SessionOptions guarded(double seconds) {
  SessionOptions options;
  options.blank_rut_s = seconds;
  return options;
}

// Where the decoder's context began, each as an index into what was heard.
std::vector<std::size_t> contexts(const std::vector<Heard>& heard) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < heard.size(); ++i)
    if (heard[i].position == 0) found.push_back(i);
  return found;
}

// A second of quiet, fourteen of speech, two of quiet.
std::vector<float> speech_clip() {
  std::vector<float> clip = quiet_clip(17);
  add_syllables(clip, 1, 15);
  return clip;
}
constexpr std::int64_t kClipTokens = 32 + 213 + 17;  // 17 s and its padding at 480 ms

TEST(BlankRut, WithoutARestartEveryRowIsHeardOnceInOrder) {
  StubRun run(guarded(0), always_pad);
  run.run(speech_clip(), 5000);
  EXPECT_TRUE(run.warnings("blank_rut").empty());
  ASSERT_EQ(run.heard().size(), static_cast<std::size_t>(kClipTokens));
  for (std::int64_t p = 0; p < kClipTokens; ++p) {
    const Heard& row = run.heard()[static_cast<std::size_t>(p)];
    ASSERT_EQ(row.position, p);
    ASSERT_EQ(row.audio, p);
    ASSERT_EQ(row.token, p == 0 ? 1 : kStubPad);
  }
  EXPECT_EQ(run.decisions(), kClipTokens - 39 + 1);
  EXPECT_EQ(run.transcript().usage.output_tokens, run.decisions());
  EXPECT_EQ(run.transcript().usage.prompt_tokens, 39);
  EXPECT_EQ(run.transcript().usage.audio_s, 17);
}

// What is decided is what the next position hears.
TEST(BlankRut, EveryDecisionIsFedBack) {
  std::vector<std::int32_t> said;
  StubRun run(guarded(0), [&](const std::vector<Heard>& heard) {
    said.push_back(static_cast<std::int32_t>(kStubText + heard.size() % 20));
    return said.back();
  });
  run.run(quiet_clip(2), 1280);
  for (std::size_t k = 0; k + 1 < said.size(); ++k)
    ASSERT_EQ(run.heard()[39 + k].token, said[k]) << k;
}

class RestartTest : public testing::TestWithParam<std::size_t> {
 protected:
  // Says nothing until its context was begun anew, then "a" in each slot for a while.
  static std::int32_t says_it_then(const std::vector<Heard>& heard) {
    const std::vector<std::size_t> begun = contexts(heard);
    if (begun.size() < 2) return kStubPad;
    const std::size_t rows = heard.size() - begun.back();
    return rows >= 39 && rows < 39 + 5 ? kStubText : kStubPad;
  }
};

TEST_P(RestartTest, HearsTheStretchAgainFromAFreshContext) {
  StubRun run(guarded(3), says_it_then);
  run.run(speech_clip(), GetParam());

  const std::vector<std::size_t> begun = contexts(run.heard());
  ASSERT_GE(begun.size(), 2U);
  // Until then every row, and the last of them is the limit behind the first speech.
  for (std::size_t i = 0; i < begun[1]; ++i)
    ASSERT_EQ(run.heard()[i].audio, static_cast<std::int64_t>(i));
  const std::int64_t until = run.heard()[begun[1] - 1].audio;
  const double heard_s = static_cast<double>(until - kLeftPad) * kTokenS;
  EXPECT_NEAR(heard_s, 1 + 3, 0.3);

  // BOS and pads over silence, then the stretch a little before its first speech, row by row, to
  // the end of the clip or the next restart.
  const std::int64_t again = run.heard()[begun[1] + static_cast<std::size_t>(kLeftPad)].audio;
  EXPECT_NEAR(static_cast<double>(again - kLeftPad) * kTokenS, 1 - 4 * kTokenS, 0.17);
  const std::size_t end = begun.size() > 2 ? begun[2] : run.heard().size();
  for (std::size_t i = begun[1]; i < end; ++i) {
    const Heard& row = run.heard()[i];
    const auto p = static_cast<std::int64_t>(i - begun[1]);
    ASSERT_EQ(row.position, p);
    ASSERT_EQ(row.audio, p < kLeftPad ? p : again + p - kLeftPad);
    if (p < 39) {
      ASSERT_EQ(row.token, p == 0 ? 1 : kStubPad);
    }
  }
}

TEST_P(RestartTest, SaysSoOnceAndWhere) {
  StubRun run(guarded(3), says_it_then);
  std::vector<float> clip = quiet_clip(7);
  add_syllables(clip, 1, 5);
  run.run(clip, GetParam());
  const std::vector<Warning> warnings = run.warnings("blank_rut");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NEAR(warnings[0].start_s, 1 - 4 * kTokenS, 0.17);
  EXPECT_NEAR(warnings[0].end_s, 1 + 3, 0.3);
  EXPECT_TRUE(contains(warnings[0].message, "3 s")) << warnings[0].message;
  ASSERT_EQ(run.transcript().warnings.size(), 1U);
  EXPECT_STREQ(run.transcript().warnings[0].code, "blank_rut");
}

// The first decision of the fresh context belongs to the first slot of the stretch.
TEST_P(RestartTest, WhatIsSaidThenHasTheTimesOfTheStretch) {
  StubRun run(guarded(3), says_it_then);
  run.run(speech_clip(), GetParam());
  const std::vector<Warning> warnings = run.warnings("blank_rut");
  ASSERT_GE(warnings.size(), 1U);
  std::vector<TextDelta> deltas;
  for (const Event& event : run.events())
    if (const TextDelta* delta = std::get_if<TextDelta>(&event)) deltas.push_back(*delta);
  ASSERT_EQ(deltas.size() / 5 * 5, deltas.size());
  ASSERT_GE(deltas.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(deltas[i].start_s, warnings[0].start_s + static_cast<double>(i) * kTokenS, 1e-9);
    EXPECT_NEAR(deltas[i].end_s - deltas[i].start_s, kTokenS, 1e-9);
  }
  const Transcript& transcript = run.transcript();
  EXPECT_EQ(transcript.text.substr(0, 9), "a a a a a");
  ASSERT_FALSE(transcript.segments.empty());
  const Segment& first = transcript.segments[0];
  EXPECT_LE(first.start_s, warnings[0].end_s);
  EXPECT_GE(first.end_s, warnings[0].start_s);
  EXPECT_LE(first.end_s, warnings[0].end_s);
}

INSTANTIATE_TEST_SUITE_P(Blocks, RestartTest, testing::Values(1264U, 1280U, 16000U, 1U << 20));

// A model that never says anything is asked less and less often, and hears everything.
TEST(BlankRut, NoRowIsSkippedHoweverOftenItStarts) {
  StubRun run(guarded(1), always_pad);
  std::vector<float> clip = quiet_clip(62);
  add_syllables(clip, 1, 61);
  run.run(clip, 16000);
  const std::size_t restarts = run.warnings("blank_rut").size();
  EXPECT_GE(restarts, 3U);
  EXPECT_LE(restarts, 6U);  // after 1, 2, 4, 8, 16, 16 s
  EXPECT_EQ(contexts(run.heard()).size(), restarts + 1);
  std::int64_t furthest = -1;
  for (const Heard& row : run.heard()) {
    ASSERT_LE(row.audio, furthest + 1);
    furthest = std::max(furthest, row.audio);
  }
  EXPECT_EQ(furthest + 1, Schedule().tokens(static_cast<std::int64_t>(clip.size())));
  EXPECT_EQ(run.transcript().text, "");
}

TEST(BlankRut, TextResetsItsPatience) {
  // A word each second.
  StubRun run(guarded(3), [](const std::vector<Heard>& heard) {
    return heard.size() % 12 == 0 ? kStubText : kStubPad;
  });
  run.run(speech_clip(), 1280);
  EXPECT_TRUE(run.warnings("blank_rut").empty());
}

TEST(BlankRut, SilenceAndALevelThatStaysAreNoSpeech) {
  std::vector<float> humming = TestValues(5).uniforms(20 * kStubRate, 0.1F);
  for (const std::vector<float>& clip : {quiet_clip(20), humming}) {
    StubRun run(guarded(8), always_pad);
    run.run(clip, 1280);
    EXPECT_TRUE(run.warnings("blank_rut").empty());
    EXPECT_EQ(contexts(run.heard()).size(), 1U);
  }
}

TEST(BlankRut, ARestartNeverGoesBackBeforeTheLastText) {
  for (const std::int32_t delay : {1, 2, 6, 30}) {
    Schedule schedule;
    schedule.delay = delay;
    std::int64_t last_text = -1;
    StubRun run(
        guarded(1),
        [&](const std::vector<Heard>& heard) {
          if (contexts(heard).size() > 1 || heard.size() > 100) return kStubPad;
          // Slot k is decided when the row left_pad + delay + k is heard.
          last_text = heard.back().audio - kLeftPad - delay;
          return kStubText;
        },
        schedule);
    run.run(speech_clip(), 1280);
    const std::vector<std::size_t> begun = contexts(run.heard());
    ASSERT_GE(begun.size(), 2U) << delay;
    const std::int64_t again =
        run.heard()[begun[1] + static_cast<std::size_t>(kLeftPad)].audio - kLeftPad;
    EXPECT_GT(again, last_text) << delay;
  }
}

TEST(BlankRut, AStopInTheMiddleOfARestartEndsIt) {
  StubRun run(guarded(1), always_pad);
  run.session().push(speech_clip());
  while (contexts(run.heard()).size() < 2) {
    const std::size_t before = run.heard().size();
    run.step();
    ASSERT_GT(run.heard().size(), before);
  }
  run.session().stop();
  run.run();
  EXPECT_TRUE(run.session().done());
  EXPECT_EQ(run.warnings("interrupted").size(), 1U);
  EXPECT_EQ(run.transcript().usage.audio_s, 17);
}

// A window slides: pages stay few, also across restarts.
TEST(BlankRut, TheCachesHoldNoMoreThanTheirWindows) {
  StubRun run(guarded(1), always_pad);
  std::vector<float> clip = quiet_clip(100);
  add_syllables(clip, 1, 99);
  for (std::size_t at = 0; at < clip.size(); at += 1280) {
    run.session().push(std::span(clip).subspan(at, std::min<std::size_t>(1280, clip.size() - at)));
    run.run();
    ASSERT_LE(run.pages(), 6);
  }
}

// The rule about repetitions of the first family never ends a session here.
TEST(VoxtralLoop, ARepetitionIsToldOnceAndDecodingGoesOn) {
  StubRun run(guarded(0), [](const std::vector<Heard>&) { return kStubText; });
  run.run(quiet_clip(17), 1280);
  EXPECT_EQ(run.warnings("loop").size(), 1U);
  EXPECT_EQ(run.decisions(), kClipTokens - 39 + 1);
  EXPECT_EQ(run.transcript().text.size(), static_cast<std::size_t>(2 * run.decisions() - 1));
}

TEST(VoxtralLoop, OnlyTextCounts) {
  StubRun run(guarded(0), always_pad);
  run.run(quiet_clip(60), 16000);
  EXPECT_TRUE(run.warnings("loop").empty());
}

}  // namespace
}  // namespace verbatim::voxtral
