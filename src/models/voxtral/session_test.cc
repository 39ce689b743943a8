// One session for a file, a pipe and a microphone: what ends it, when it decides, and that no clip
// is too short.
#include "models/voxtral/session.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "audio/test_clip.h"
#include "base/utf8.h"
#include "models/changed_checkpoint.h"
#include "models/model_run.h"

namespace verbatim::voxtral {
namespace {

const std::string kWindows = std::string(kGolden) + "windows-mistral-bf16";
const std::string kEnds = std::string(kGolden) + "delay-eos-hf-bf16";
constexpr std::int64_t kPrompt = 39;  // at 480 ms

std::vector<float> sample(const char* name) {
  return read_clip(std::string(kNano) + "/samples/" + name + ".wav", 16000);
}

std::int64_t decisions_of(std::int64_t samples) {
  return Schedule().tokens(samples) - kPrompt + 1;
}

using Codes = std::vector<std::string>;
Codes codes(const Transcript& transcript) {
  Codes all;
  for (const Warning& warning : transcript.warnings) all.emplace_back(warning.code);
  return all;
}

// One end, no failure, and every warning of the transcript was told before.
void expect_one_end(const std::vector<Event>& events) {
  int ends = 0;
  Codes told;
  for (const Event& event : events) {
    EXPECT_EQ(ends, 0) << "something came behind the end";
    EXPECT_FALSE(std::holds_alternative<Failed>(event));
    ends += std::holds_alternative<Done>(event) ? 1 : 0;
    if (const Warning* warning = std::get_if<Warning>(&event)) told.emplace_back(warning->code);
  }
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(told, codes(transcript_of(events)));
}

bool is_whole_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = next_character(text);
    if (character.status != Utf8Status::kWhole) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

std::string joined_deltas(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events)
    if (const TextDelta* delta = std::get_if<TextDelta>(&event)) text += delta->text;
  return text;
}

TEST(VoxtralSession, ClipsOfAnyLengthGiveTextOrAnHonestEmptyResult) {
  const std::vector<float> all = sample("s8_long_mixed");
  for (const std::string& folder : {std::string(kNano), kWindows}) {
    ModelRun run(folder);
    for (const std::int64_t samples :
         {0, 1, 2, 79, 159, 160, 639, 640, 1279, 1280, 1281, 4000, 16000, 40001, 160000, 480000}) {
      // Wherever that is, most likely in the middle of a word.
      const auto clip = std::span(all).subspan(12345 + static_cast<std::size_t>(samples % 7777),
                                               static_cast<std::size_t>(samples));
      SCOPED_TRACE(folder + ", " + std::to_string(samples) + " samples");
      const std::vector<Event> events = run.run(clip, {});
      expect_one_end(events);
      const Transcript& transcript = transcript_of(events);
      EXPECT_EQ(transcript.usage.output_tokens, decisions_of(samples));
      EXPECT_DOUBLE_EQ(transcript.usage.audio_s, static_cast<double>(samples) / 16000);
      EXPECT_TRUE(is_whole_utf8(transcript.text));
      EXPECT_EQ(joined_deltas(events), transcript.text);
      for (const Segment& segment : transcript.segments) {
        EXPECT_LE(segment.start_s, segment.end_s);
        EXPECT_LE(segment.end_s, transcript.usage.audio_s);
        EXPECT_FALSE(segment.text.empty());
      }
      if (samples < 160 && folder == kNano) {
        EXPECT_EQ(transcript.text, "");
      }
    }
  }
}

TEST(VoxtralSession, EveryDelayDecidesAsManySlots) {
  const std::vector<float> clip = sample("s1_fsdd_takes");
  ModelRun run(kNano);
  for (const std::int32_t d : {1, 3, 12, 30}) {
    SessionOptions options;
    options.delay_ms = 80 * d;
    const std::vector<Event> events = run.run(clip, options);
    const Transcript& transcript = transcript_of(events);
    EXPECT_EQ(transcript.usage.output_tokens, decisions_of(static_cast<std::int64_t>(clip.size())));
    EXPECT_EQ(transcript.usage.prompt_tokens, 33 + d);
    if (d == 3 || d == 12) {
      EXPECT_EQ(transcript.text, "six five four");
    }
  }
}

TEST(VoxtralSession, SilenceAndNoiseGiveNoText) {
  ModelRun run(kNano);
  const std::vector<float> silence(20 * 16000);
  EXPECT_EQ(transcript_of(run.run(silence, {})).text, "");
  for (const float level : {0.0001F, 0.01F, 0.1F}) {
    const std::vector<float> noise = TestValues(9).uniforms(20 * 16000, level);
    const std::vector<Event> events = run.run(noise, {});
    EXPECT_EQ(transcript_of(events).text, "") << level;
    EXPECT_TRUE(transcript_of(events).warnings.empty()) << level;
  }
}

// The fixtures say how many slots are decided once so many samples are there: 40 samples of
// look-ahead and nothing else.
TEST(VoxtralSession, DecidesAsSoonAsTheReferenceCan) {
  const boost::json::value facts =
      parse_json(read_file(kWindows + "/expected.json", 1 << 24), "expected.json");
  const std::vector<float> clip = read_clip(kWindows + "/input.wav", 16000);
  int sizes = 0;
  for (const auto& [samples, counts] :
       facts.at("streaming").at("decided_after_chunk").as_object()) {
    const auto chunk = static_cast<std::size_t>(std::stoul(std::string(samples)));
    KeepTap tap("token");
    ModelRun run(kWindows, &tap);
    const std::unique_ptr<Session> session = run.open({});
    const auto decided = [&] {
      while (run.encode(*session) || run.decode(*session)) {
      }
      return static_cast<std::int64_t>(tap.bytes.size() / sizeof(std::int32_t));
    };
    std::size_t at = 0;
    for (const boost::json::value& count : counts.as_array()) {
      if (at < clip.size()) {
        const std::size_t more = std::min(chunk, clip.size() - at);
        session->push(std::span(clip).subspan(at, more));
        at += more;
      } else {
        session->finish();
      }
      ASSERT_EQ(decided(), count.to_number<std::int64_t>()) << samples << " up to " << at;
    }
    EXPECT_TRUE(session->done());
    ++sizes;
  }
  EXPECT_GE(sizes, 2);
}

TEST(VoxtralSession, TextIsPostedWithItsDecisionNotAtTheEnd) {
  ModelRun run(kNano);
  const std::vector<float> clip = sample("s1_fsdd_takes");
  const std::unique_ptr<Session> session = run.open({});
  std::vector<Event> events;
  std::vector<double> heard_s;  // how much was pushed when each delta came
  for (std::size_t at = 0; at < clip.size(); at += 1280) {
    session->push(std::span(clip).subspan(at, std::min<std::size_t>(1280, clip.size() - at)));
    while (run.encode(*session) || run.decode(*session)) {
    }
    const std::size_t before = events.size();
    session->drain(events);
    for (std::size_t i = before; i < events.size(); ++i) {
      const TextDelta* delta = std::get_if<TextDelta>(&events[i]);
      if (delta == nullptr) continue;
      // A word's end, its delay, one slot for each of its tokens.
      const double pushed = static_cast<double>(at + 1280) / 16000;
      EXPECT_NEAR(pushed - delta->end_s, 0.48, 0.17);
      heard_s.push_back(pushed);
    }
  }
  EXPECT_EQ(heard_s.size(), 3U);
  EXPECT_EQ(joined_deltas(events), "six five four");
}

TEST(VoxtralSession, ALimitOnTokensDeliversWhatWasRecognisedAndSaysSo) {
  ModelRun run(kNano);
  SessionOptions options;
  options.max_output_tokens = 30;
  const std::vector<Event> events = run.run(sample("s1_fsdd_takes"), options);
  expect_one_end(events);
  const Transcript& transcript = transcript_of(events);
  EXPECT_EQ(codes(transcript), Codes{"truncated"});
  EXPECT_TRUE(contains(transcript.warnings[0].message, "30 tokens"));
  EXPECT_EQ(transcript.usage.output_tokens, 30);
  EXPECT_EQ(transcript.text, "six five");
  options.max_output_tokens = 100000;
  EXPECT_EQ(codes(transcript_of(run.run(sample("s1_fsdd_takes"), options))), Codes{});
}

// The fixture's model says the end token in slot 13 of 43.
TEST(VoxtralSession, TheEndTokenEndsOnlyWhereThatIsAskedFor) {
  const std::vector<float> clip = read_clip(kEnds + "/input.wav", 16000);
  KeepTap live("token"), offline("token");
  {
    ModelRun run(kEnds, &live);
    const Transcript transcript = transcript_of(run.run(clip, {}));
    EXPECT_TRUE(codes(transcript).empty());
    EXPECT_EQ(transcript.usage.output_tokens, 41);
  }
  ModelRun run(kEnds, &offline);
  SessionOptions options;
  options.stop_at_eos = true;
  const std::vector<Event> events = run.run(clip, options);
  expect_one_end(events);
  EXPECT_EQ(codes(transcript_of(events)), Codes{"eos"});
  EXPECT_EQ(transcript_of(events).usage.output_tokens, 14);
  ASSERT_LT(offline.bytes.size(), live.bytes.size());
  EXPECT_TRUE(std::equal(offline.bytes.begin(), offline.bytes.end(), live.bytes.begin()));
  // What was not heard is told.
  const Warning& warning = transcript_of(events).warnings[0];
  EXPECT_NEAR(warning.start_s, 14 * 0.08, 1e-9);
  EXPECT_NEAR(warning.end_s, static_cast<double>(clip.size()) / 16000, 1e-9);
}

class VoxtralStopTest : public testing::Test {
 protected:
  // Stops, twice, goes on as if nothing had happened, and expects one end that says so.
  Transcript stopped(Session& session) {
    session.stop();
    EXPECT_TRUE(session.done());
    session.stop();
    session.push(noise_clip(100));
    session.finish();
    EXPECT_FALSE(run_.encode(session));
    EXPECT_FALSE(run_.decode(session));
    std::vector<Event> events;
    session.drain(events);
    expect_one_end(events);
    EXPECT_EQ(codes(transcript_of(events)), Codes{"interrupted"});
    return transcript_of(events);
  }
  ModelRun run_{kNano};
};

TEST_F(VoxtralStopTest, BeforeAnyAudio) {
  const std::unique_ptr<Session> session = run_.open({});
  const Transcript transcript = stopped(*session);
  EXPECT_EQ(transcript.text, "");
  EXPECT_EQ(transcript.usage.audio_s, 0);
}

TEST_F(VoxtralStopTest, WhileThePromptIsHeard) {
  const std::unique_ptr<Session> session = run_.open({});
  session->push(noise_clip(16000));
  ASSERT_TRUE(run_.encode(*session));
  ASSERT_TRUE(run_.decode(*session, 20));
  EXPECT_EQ(stopped(*session).usage.output_tokens, 0);
}

TEST_F(VoxtralStopTest, WhileItTranscribesKeepsWhatWasRecognised) {
  const std::unique_ptr<Session> session = run_.open({});
  session->push(sample("s1_fsdd_takes"));
  std::vector<Event> events;
  std::string said;
  while (said != "six five") {
    const bool encoded = run_.encode(*session);
    ASSERT_TRUE(run_.decode(*session) || encoded);
    session->drain(events);
    said = joined_deltas(events);
  }
  const Transcript transcript = stopped(*session);
  EXPECT_EQ(transcript.text, "six five");
  ASSERT_FALSE(transcript.segments.empty());
  ASSERT_FALSE(transcript.segments[0].words.empty());
  // From there on it is missing.
  EXPECT_GT(transcript.warnings[0].start_s, 1);
  EXPECT_LT(transcript.warnings[0].start_s, 3.5);
}

TEST(VoxtralSession, WhatWasAskedIsEchoed) {
  ModelRun run(kNano);
  SessionOptions options;
  options.language = "german";
  EXPECT_EQ(transcript_of(run.run(noise_clip(16000), options)).language, "german");
}

TEST(VoxtralSession, ProgressNeverGoesBackAndKnowsTheLengthAtTheEnd) {
  ModelRun run(kNano);
  const std::vector<float> clip = sample("s7_mixed");
  const double total = static_cast<double>(clip.size()) / 16000;
  double done = 0;
  int seen = 0;
  for (const Event& event : run.run(clip, {})) {
    const Progress* progress = std::get_if<Progress>(&event);
    if (progress == nullptr) continue;
    EXPECT_STREQ(progress->stage, "decode");
    EXPECT_GE(progress->done_s, done);
    EXPECT_LE(progress->done_s, total);
    EXPECT_DOUBLE_EQ(progress->total_s, total);
    done = progress->done_s;
    ++seen;
  }
  EXPECT_GE(seen, 4);
  EXPECT_DOUBLE_EQ(done, total);
}

std::vector<std::byte> tokens(std::span<const float> clip, const SessionOptions& options,
                              double room_s = 4, std::int32_t rows = 512) {
  KeepTap tap("token");
  ModelRun(kWindows, &tap).run(clip, options, room_s, rows);
  EXPECT_FALSE(tap.bytes.empty());
  return tap.bytes;
}

TEST(VoxtralSession, SampledTokensDependOnTheSeedAlone) {
  const std::vector<float> clip = noise_clip(24000);
  SessionOptions options;
  options.temperature = 3;
  options.seed = 11;
  const std::vector<std::byte> first = tokens(clip, options);
  EXPECT_EQ(tokens(clip, options), first);
  EXPECT_EQ(tokens(clip, options, 0.2, 7), first);
  options.seed = 12;
  EXPECT_NE(tokens(clip, options), first);
  options.top_p = 1e-9;
  EXPECT_EQ(tokens(clip, options), tokens(clip, {}));
}

TEST(VoxtralSession, RoomsAndBudgetsChangeNoBit) {
  const std::vector<float> clip = noise_clip(50001);
  const auto seen = [&](const char* name, double room_s, std::int32_t rows) {
    KeepTap tap(name);
    ModelRun(kWindows, &tap).run(clip, {}, room_s, rows);
    return tap.bytes;
  };
  for (const char* name : {"proj.out", "step.logits"}) {
    const std::vector<std::byte> whole = seen(name, 4, 512);
    EXPECT_FALSE(whole.empty());
    for (const double room_s : {0.0, 0.08, 0.32, 1.0})
      EXPECT_EQ(seen(name, room_s, 512), whole) << name << room_s;
    for (const std::int32_t rows : {1, 7, 16})
      EXPECT_EQ(seen(name, 4, rows), whole) << name << rows;
  }
}

// One token at least, however little room a tick has and whoever planned before.
TEST(VoxtralSession, EncodesItsShareOfATickAndOneTokenAlways) {
  ModelRun run(kNano);
  const std::unique_ptr<Session> session = run.open({});
  session->push(noise_clip(16000));
  for (const auto& [room_s, tokens] : {std::pair(0.0, 1), {0.15, 1}, {0.17, 2}, {2.0, 25}}) {
    EncodeBatch batch(room_s);
    session->plan(batch);
    ASSERT_EQ(batch.items().size(), 1U);
    EXPECT_EQ(batch.items()[0].rows.rows, 8 * tokens) << room_s;
  }
}

// A file that is read faster than it is heard waits outside.
TEST(VoxtralSession, TakesNoMoreThanAFewSecondsAhead) {
  ModelRun run(kNano);
  const std::unique_ptr<Session> session = run.open({});
  std::vector<float> block = noise_clip(4000);
  std::size_t pushed = 0;
  while (session->room() > 0) {
    const std::size_t count = std::min(session->room(), block.size());
    session->push(std::span(block).first(count));
    pushed += count;
    ASSERT_LT(pushed, 20U * 16000);
  }
  EXPECT_FALSE(session->done());
  EXPECT_TRUE(run.encode(*session));
  EXPECT_GT(session->room(), 0U);
}

}  // namespace
}  // namespace verbatim::voxtral
