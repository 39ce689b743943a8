// Padding around the clip, rows in whole tokens, and which of them are speech, whatever the blocks.
#include "models/voxtral/front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "weights/test_values.h"

namespace verbatim::voxtral {
namespace {

constexpr std::int64_t kToken = 1280;

Config published() {
  Config made;  // the log-mel's defaults are the published ones
  made.downsample_factor = 4;
  return made;
}

// Keeps the samples that were turned, padding included.
class PaddedTap final : public Tap {
 public:
  bool wants(std::string_view name) const override { return name == "padded"; }
  void see(std::string_view name, const Tensor& rows, const Spans& spans) override {
    if (name != "padded") return;
    EXPECT_EQ(spans.host[0].position, static_cast<std::int64_t>(samples.size()));
    for (std::int64_t r = 0; r < rows.rows; ++r) samples.push_back(rows.row<const float>(r)[0]);
  }
  std::vector<float> samples;
};

std::vector<float> noise(std::int64_t samples) {
  return TestValues(7).uniforms(samples, 0.3F, 0.5F);  // nowhere zero
}

// Bursts of 150 ms every 250 ms between a second of quiet and another.
std::vector<float> syllables(double seconds) {
  std::vector<float> made(static_cast<std::size_t>((seconds + 2) * 16000));
  const std::vector<float> loud = TestValues(3).uniforms(2400, 0.3F);
  for (double at = 1; at < seconds + 1; at += 0.25)
    std::copy(loud.begin(), loud.end(), made.begin() + static_cast<std::ptrdiff_t>(at * 16000));
  return made;
}

struct Heard {
  std::vector<float> padded;
  std::vector<float> rows;
  std::vector<bool> speech;
  std::int64_t tokens = 0;
};

Heard heard(const Schedule& schedule, std::span<const float> clip, std::size_t block) {
  const Config config = published();
  PaddedTap tap;
  const Trace trace(&tap);
  Front front(config, schedule);
  Heard made;
  const auto take = [&] {
    front.advance(trace);
    const std::int64_t tokens = front.tokens();
    const std::span<const float> rows = front.rows(tokens);
    made.rows.insert(made.rows.end(), rows.begin(), rows.end());
    front.drop(tokens);
    EXPECT_EQ(front.tokens(), 0);
    made.tokens += tokens;
  };
  for (std::size_t at = 0; at < clip.size(); at += block) {
    front.push(clip.subspan(at, std::min(block, clip.size() - at)));
    take();
  }
  front.finish();
  take();
  take();  // nothing more comes
  EXPECT_EQ(front.samples(), static_cast<std::int64_t>(clip.size()));
  for (std::int64_t token = 0; token < made.tokens; ++token)
    made.speech.push_back(front.is_speech(token));
  made.padded = tap.samples;
  return made;
}

TEST(Front, PadsAsTheReferenceDoes) {
  for (const std::int32_t left_pad : {32, 16}) {
    for (const std::int32_t delay : {1, 6, 12, 30}) {
      Schedule schedule;
      schedule.left_pad = left_pad;
      schedule.delay = delay;
      for (const std::int64_t samples : {0, 1, 1279, 1280, 1281, 16000}) {
        SCOPED_TRACE(formatted("%d left, %d delay, %lld samples", left_pad, delay,
                               static_cast<long long>(samples)));
        const std::vector<float> clip = noise(samples);
        const Heard whole = heard(schedule, clip, 1U << 30);
        // Section 2.2: N = (left + S + align + (d + 11) tokens) / 1280.
        const std::int64_t tokens = left_pad + (samples + kToken - 1) / kToken + delay + 11;
        EXPECT_EQ(whole.tokens, tokens);
        EXPECT_EQ(schedule.tokens(samples), tokens);
        ASSERT_EQ(whole.rows.size(), static_cast<std::size_t>(tokens * 8 * 128));
        ASSERT_EQ(whole.padded.size(), static_cast<std::size_t>(tokens * kToken));
        const auto first = whole.padded.begin() + left_pad * kToken;
        const auto is_zero = [](float value) { return value == 0; };
        EXPECT_TRUE(std::all_of(whole.padded.begin(), first, is_zero));
        EXPECT_TRUE(std::equal(clip.begin(), clip.end(), first));
        EXPECT_TRUE(std::all_of(first + samples, whole.padded.end(), is_zero));
      }
    }
  }
}

TEST(Front, EqualsTheReferencesTableOfPaddings) {
  const boost::json::value facts = parse_json(
      read_file("tests/golden/voxtral-frontend/expected.json", 1 << 20), "expected.json");
  int rows = 0;
  for (const boost::json::value& row : facts.at("padding").as_array()) {
    const auto at = [&](std::size_t column) {
      return row.as_array()[column].to_number<std::int64_t>();
    };
    Schedule schedule;
    schedule.left_pad = static_cast<std::int32_t>(at(2));
    schedule.delay = static_cast<std::int32_t>(at(3));
    const std::int64_t align = (kToken - at(0) % kToken) % kToken;
    EXPECT_EQ(schedule.left_pad * kToken, at(4));
    EXPECT_EQ(align + schedule.right_pad() * kToken, at(5));
    EXPECT_EQ(schedule.tokens(at(0)), at(6));
    EXPECT_EQ(schedule.prompt_rows(), at(7));
    ++rows;
  }
  EXPECT_GT(rows, 20);
}

TEST(Front, SilenceIsTheFloorOfTheLogMel) {
  const Heard empty = heard(Schedule(), {}, 1);
  EXPECT_EQ(empty.tokens, 49);
  for (const float value : empty.rows) ASSERT_EQ(value, -0.625F);
}

TEST(Front, TheBlocksChangeNoBit) {
  const std::vector<float> clip = syllables(2);
  const Heard whole = heard(Schedule(), clip, clip.size());
  EXPECT_EQ(std::count(whole.speech.begin(), whole.speech.end(), true) > 10, true);
  for (const std::size_t block : {1U, 79U, 1264U, 1280U, 1281U, 16000U}) {
    const Heard parts = heard(Schedule(), clip, block);
    EXPECT_EQ(parts.padded, whole.padded) << block;
    EXPECT_EQ(parts.rows, whole.rows) << block;
    EXPECT_EQ(parts.speech, whole.speech) << block;
  }
}

// Token k needs samples up to 1280 (k + 1) + 40, and not one more.
TEST(Front, ATokenIsThereWithTheFortiethSampleBehindIt) {
  const Config config = published();
  Front front(config, Schedule());
  front.advance({});
  EXPECT_EQ(front.tokens(), 31);  // of the silence; its last token looks into the clip
  const std::vector<float> clip = noise(kToken + 40);
  front.push(std::span(clip).first(39));
  front.advance({});
  EXPECT_EQ(front.tokens(), 31);
  front.push(std::span(clip).subspan(39, 1));
  front.advance({});
  EXPECT_EQ(front.tokens(), 32);
  front.push(std::span(clip).subspan(40, kToken - 1));
  front.advance({});
  EXPECT_EQ(front.tokens(), 32);
  front.push(std::span(clip).last(1));
  front.advance({});
  EXPECT_EQ(front.tokens(), 33);
}

TEST(Front, SpeechIsToldByTheClipsTokens) {
  const std::vector<float> clip = syllables(4);  // from 1 s on
  const Heard whole = heard(Schedule(), clip, 5000);
  const auto is_speech = [&](double second) {
    return whole.speech[static_cast<std::size_t>(second / 0.08)];
  };
  EXPECT_FALSE(is_speech(0.5));
  EXPECT_TRUE(is_speech(2));
  EXPECT_TRUE(is_speech(4));
  EXPECT_FALSE(is_speech(5.9));
  // The silence behind the clip was not listened to.
  for (std::size_t token = 75; token < whole.speech.size(); ++token)
    EXPECT_FALSE(whole.speech[token]) << token;
}

TEST(Front, ATokenThatWasPassedOrHasNotComeIsNoSpeech) {
  const Config config = published();
  Front front(config, Schedule());
  front.push(syllables(4));
  front.advance({});
  EXPECT_TRUE(front.is_speech(30));
  EXPECT_TRUE(front.is_speech(30));  // asked again
  EXPECT_TRUE(front.is_speech(40));
  EXPECT_FALSE(front.is_speech(30));
  EXPECT_FALSE(front.is_speech(-3));
  EXPECT_FALSE(front.is_speech(1000));
}

TEST(Front, RoomEndsWhereEnoughWaitsAndComesBackWithWhatIsTaken) {
  const Config config = published();
  Front front(config, Schedule());
  std::size_t taken = 0;
  const std::vector<float> block = noise(1000);
  while (front.room() > 0) {
    const std::size_t count = std::min(front.room(), block.size());
    front.push(std::span(block).first(count));
    taken += count;
    front.advance({});
    ASSERT_LT(taken, 20U * 16000);
  }
  EXPECT_GE(taken, 4U * 16000);
  front.drop(front.tokens());
  EXPECT_GE(front.room(), 4U * 16000);
}

}  // namespace
}  // namespace verbatim::voxtral
