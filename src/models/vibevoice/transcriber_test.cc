// From tokens to a transcript: loops, the tokens of a segment, and every warning.
#include "models/vibevoice/transcriber.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "text/vocabulary_json.h"

namespace verbatim::vibevoice {
namespace {

const Tokenizer& nano() {
  static constexpr const char* kPath = "models/vibevoice-asr-nano/tokenizer.json";
  static const Tokenizer made = read_tokenizer_json(read_file(kPath, std::size_t{1} << 20), kPath);
  return made;
}

std::int32_t needed(std::int32_t period) {
  return std::max(6, (96 + period - 1) / period);
}

TEST(LoopDetector, TellsAPeriodAtItsLastTokenAndNotOneEarlier) {
  for (std::int32_t period = 1; period <= 64; ++period) {
    LoopDetector loop;
    for (std::int32_t i = 0; i < 200; ++i) EXPECT_FALSE(loop.push(1000 + i));
    const std::int32_t count = period * needed(period);
    for (std::int32_t i = 0; i < count - 1; ++i)
      ASSERT_FALSE(loop.push(i % period)) << "period " << period << ", token " << i;
    EXPECT_TRUE(loop.push((count - 1) % period)) << "period " << period;
    EXPECT_EQ(loop.period(), period);
  }
}

TEST(LoopDetector, AnythingBetweenTheRepetitionsBreaksThem) {
  for (const std::int32_t period : {1, 2, 7, 16, 17, 64}) {
    LoopDetector loop;
    for (int again = 0; again < 4; ++again) {
      for (std::int32_t i = 0; i < period * needed(period) - 1; ++i)
        ASSERT_FALSE(loop.push(i % period)) << "period " << period;
      ASSERT_FALSE(loop.push(500 + again));
    }
  }
}

TEST(LoopDetector, LongerPeriodsAreNoLoop) {
  LoopDetector loop;
  for (std::int32_t i = 0; i < 65 * 50; ++i) ASSERT_FALSE(loop.push(i % 65));
}

TEST(LoopDetector, ALoopMayBeginAtTheFirstToken) {
  LoopDetector loop;
  std::int32_t count = 1;
  while (!loop.push(7)) ++count;
  EXPECT_EQ(count, 96);
}

std::string object(double start, double end, int speaker, const std::string& text) {
  return formatted("{\"Start\":%.2f,\"End\":%.2f,\"Speaker\":%d,\"Content\":\"%s\"}", start, end,
                   speaker, text.c_str());
}

// Everything that `text` makes, segments as they came included.
struct Made {
  Transcript transcript;
  std::vector<Segment> early;
  bool looped = false;
};

Made made(const std::string& text, double duration_s, const std::vector<Interval>& speech = {},
          std::vector<Warning> more = {}, bool by_itself = true) {
  Transcriber transcriber(nano());
  Made result;
  for (const std::int32_t token : nano().encode(text, true)) {
    for (Segment& segment : transcriber.push(token)) result.early.push_back(std::move(segment));
    result.looped = transcriber.is_looping();
  }
  result.transcript = transcriber.finish(duration_s, speech, std::move(more), by_itself);
  return result;
}

std::vector<std::string> codes(const Transcript& transcript) {
  std::vector<std::string> all;
  for (const Warning& warning : transcript.warnings) all.emplace_back(warning.code);
  return all;
}
using Codes = std::vector<std::string>;

TEST(Transcriber, LongTalkOfSimilarSegmentsIsNoLoop) {
  std::string text = "assistant\n[";
  for (int i = 0; i < 300; ++i) {
    text += i == 0 ? "" : ",";
    text += object(i * 1.5, i * 1.5 + 1.2, i % 2, i % 3 == 0 ? "yes" : "okay okay okay");
  }
  const Made all = made(text + "]", 450);
  EXPECT_FALSE(all.looped);
  EXPECT_EQ(all.transcript.segments.size(), 300U);
  EXPECT_EQ(codes(all.transcript), Codes{});
}

TEST(Transcriber, TheSameObjectOnEndIsALoop) {
  std::string text = "[";
  for (int i = 0; i < 30; ++i) text += object(1, 2, 0, "yes") + ",";
  EXPECT_TRUE(made(text, 5).looped);
}

TEST(Transcriber, SegmentsComeWithTheTokenThatClosesThem) {
  Transcriber transcriber(nano());
  const std::string first = object(0, 1, 0, "open door");
  std::size_t closed = 0;
  for (const std::int32_t token : nano().encode("assistant\n[" + first, false))
    closed += transcriber.push(token).size();
  EXPECT_EQ(closed, 1U);
}

TEST(Transcriber, TheTokensOfASegmentAreThoseOfItsText) {
  // Tokens of commands-joe.wav; the texts are those between 341, `"Content":"`, and 377, `"},{"`.
  const std::vector<std::int32_t> ids = {
      845, 397, 198, 395, 312, 261, 15,  13,  19,  267, 309, 261, 16,  13,  18,  267, 311, 261,
      15,  267, 308, 341, 803, 655, 377, 312, 261, 17,  13,  20,  267, 309, 261, 18,  13,  18,
      267, 311, 261, 15,  267, 308, 341, 754, 722, 377, 312, 261, 19,  13,  17,  267, 309, 261,
      20,  13,  23,  267, 311, 261, 15,  267, 308, 341, 802, 673, 698, 339, 60,  846, 198, 844};
  Transcriber transcriber(nano());
  for (const std::int32_t id : ids) transcriber.push(id);
  const Transcript transcript = transcriber.finish(10, {}, {}, true);
  ASSERT_EQ(transcript.segments.size(), 3U);
  EXPECT_EQ(transcript.segments[0].text, "open door");
  EXPECT_EQ(transcript.segments[0].tokens, (std::vector<std::int32_t>{803, 655}));
  EXPECT_EQ(transcript.segments[1].tokens, (std::vector<std::int32_t>{754, 722}));
  EXPECT_EQ(transcript.segments[2].tokens, (std::vector<std::int32_t>{802, 673, 698}));
  EXPECT_EQ(transcript.usage.output_tokens, static_cast<std::int64_t>(ids.size()));
  EXPECT_EQ(transcript.text, "open door lights on play next music");
}

TEST(Transcriber, CharactersOfSeveralTokensBelongToTheirSegmentWhole) {
  // The small vocabulary spells these in bytes, one token each.
  for (const char* text :
       {"\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x8e\xb5 la", "a\xe6\x97\xa5", "Z\xc3\xbcrich"}) {
    const Made all = made("[" + object(0, 1, 0, "one") + "," + object(1, 2, 1, text) + "]", 2);
    ASSERT_EQ(all.transcript.segments.size(), 2U);
    EXPECT_EQ(all.transcript.segments[1].text, text);
    EXPECT_EQ(nano().decode(all.transcript.segments[1].tokens, false), text);
    ASSERT_EQ(all.early.size(), 2U);
    EXPECT_EQ(all.early[1].tokens, all.transcript.segments[1].tokens);
  }
}

TEST(Transcriber, ATokenThatEndsInsideTheFirstCharacterBelongsToTheSegment) {
  // A quotation mark and the beginning of a note in one token, as large vocabularies have them.
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.bytes.emplace_back(1, static_cast<char>(byte));
    vocabulary.byte_tokens[static_cast<std::size_t>(byte)] = byte;
  }
  vocabulary.bytes.emplace_back("\"\xf0");
  const Tokenizer tokenizer(std::move(vocabulary));
  Transcriber transcriber(tokenizer);
  const std::string before = "[{\"Start\":0,\"End\":1,\"Content\":";
  const std::string after = "\x9f\x8e\xb5\"}]";
  for (const char c : before) transcriber.push(static_cast<unsigned char>(c));
  transcriber.push(256);
  for (const char c : after) transcriber.push(static_cast<unsigned char>(c));
  const Transcript transcript = transcriber.finish(1, {}, {}, true);
  ASSERT_EQ(transcript.segments.size(), 1U);
  EXPECT_EQ(transcript.segments[0].text, "\xf0\x9f\x8e\xb5");
  EXPECT_EQ(transcript.segments[0].tokens, (std::vector<std::int32_t>{256, 0x9f, 0x8e, 0xb5}));
}

TEST(Transcriber, TimesBeyondTheAudioAreCutAndTold) {
  const Made all = made("[" + object(0, 2, 0, "one") + "," + object(4, 5.6, 0, "two") + "," +
                            object(5.5, 5.4, 0, "three") + "]",
                        5);
  EXPECT_EQ(codes(all.transcript), Codes{"times_beyond_audio"});
  EXPECT_EQ(all.transcript.warnings[0].start_s, 5);
  EXPECT_EQ(all.transcript.warnings[0].end_s, 5.6);
  EXPECT_TRUE(contains(all.transcript.warnings[0].message, "5.60"));
  EXPECT_TRUE(contains(all.transcript.warnings[0].message, "5.00"));
  ASSERT_EQ(all.transcript.segments.size(), 3U);
  EXPECT_EQ(all.transcript.segments[1].end_s, 5);
  for (const Segment& segment : all.transcript.segments) {
    EXPECT_LE(segment.start_s, segment.end_s);
    EXPECT_LE(segment.end_s, 5);
  }
}

TEST(Transcriber, ARoundedEndIsNotBeyondTheAudio) {
  EXPECT_EQ(codes(made("[" + object(0, 5.15, 0, "one") + "]", 5).transcript), Codes{});
}

TEST(Transcriber, AListThatDoesNotCloseIsToldWhenTheModelEndedIt) {
  const std::string open = "[" + object(0, 1, 0, "one") + ",{\"Start\":1,\"Content\":\"tw";
  const Made all = made(open, 2);
  EXPECT_EQ(codes(all.transcript), Codes{"unclosed_json"});
  ASSERT_EQ(all.transcript.segments.size(), 2U);
  EXPECT_EQ(all.transcript.segments[1].text, "tw");
  // Whoever cut it has said so already.
  EXPECT_EQ(codes(made(open, 2, {}, {{"truncated", "cut", 0, 2}}, false).transcript),
            Codes{"truncated"});
  EXPECT_EQ(codes(made("[" + object(0, 1, 0, "one") + "]", 1).transcript), Codes{});
}

TEST(Transcriber, TextThatIsNoListIsKeptAsOneSegment) {
  const Made all = made("open door", 3);
  EXPECT_EQ(codes(all.transcript), Codes{"unclosed_json"});
  ASSERT_EQ(all.transcript.segments.size(), 1U);
  EXPECT_EQ(all.transcript.segments[0].text, "open door");
  EXPECT_EQ(all.transcript.segments[0].start_s, 0);
  EXPECT_EQ(all.transcript.segments[0].end_s, 3);
}

TEST(Transcriber, SpeechThatNoSegmentCoversIsToldAboveTenSeconds) {
  const std::string text = "[" + object(10, 20, 0, "one") + "]";
  EXPECT_EQ(codes(made(text, 60, {{0, 30}}).transcript), Codes{"uncovered"});
  EXPECT_EQ(codes(made(text, 60, {{0, 20}}).transcript), Codes{});
  EXPECT_EQ(codes(made(text, 60, {{0, 20.01}}).transcript), Codes{"uncovered"});
  // Pieces add up, and the longest is named.
  const Transcript sum = made(text, 60, {{0, 4}, {12, 24}, {50, 53}}).transcript;
  ASSERT_EQ(codes(sum), Codes{"uncovered"});
  EXPECT_EQ(sum.warnings[0].start_s, 0);
  EXPECT_EQ(sum.warnings[0].end_s, 4);
  EXPECT_TRUE(contains(sum.warnings[0].message, "11.0 s")) << sum.warnings[0].message;
}

TEST(Transcriber, WarningsComeInOneOrder) {
  const std::string text = "[" + object(50, 70, 0, "one");
  EXPECT_EQ(codes(made(text, 60, {{0, 30}}, {{"loop", "again", 0, 60}}, true).transcript),
            (Codes{"loop", "times_beyond_audio", "unclosed_json", "uncovered"}));
}

TEST(Transcriber, NothingSaidIsAnEmptyTranscript) {
  Transcriber transcriber(nano());
  const Transcript transcript = transcriber.finish(1, {}, {}, true);
  EXPECT_EQ(codes(transcript), Codes{});
  EXPECT_EQ(transcript.segments.size(), 0U);
  EXPECT_EQ(transcript.usage.audio_s, 1);
  EXPECT_EQ(codes(made("<|endoftext|>", 1).transcript), Codes{"unclosed_json"});
  EXPECT_EQ(codes(made("[]", 1).transcript), Codes{});
}

std::vector<Segment> covering(const std::vector<Interval>& intervals) {
  std::vector<Segment> segments;
  for (const Interval& each : intervals) {
    Segment segment;
    segment.start_s = each.start_s;
    segment.end_s = each.end_s;
    segments.push_back(segment);
  }
  return segments;
}

TEST(UncoveredSpeech, IsWhatIsLeftOfTheSpeech) {
  struct Case {
    std::vector<Interval> speech;
    std::vector<Interval> covered;
    double total, start, end;
  };
  const Case cases[] = {
      {{}, {}, 0, 0, 0},
      {{}, {{0, 5}}, 0, 0, 0},
      {{{2, 6}}, {}, 4, 2, 6},
      {{{2, 6}}, {{0, 10}}, 0, 0, 0},
      {{{2, 6}}, {{2, 6}}, 0, 0, 0},
      {{{2, 6}}, {{6, 9}, {0, 2}}, 4, 2, 6},
      {{{2, 6}}, {{3, 4}}, 3, 4, 6},
      {{{2, 8}}, {{6, 7}, {3, 4}}, 4, 4, 6},          // in any order
      {{{2, 8}}, {{2, 5}, {3, 4}, {4, 6}}, 2, 6, 8},  // one over another
      {{{0, 10}}, {{5, 5}}, 10, 0, 5},                // of no length
      {{{0, 1}, {4, 9}, {20, 22}}, {{0, 21}}, 1, 21, 22},
      {{{0, 1}, {4, 9}, {20, 22}}, {{30, 40}}, 8, 4, 9},
  };
  for (const Case& each : cases) {
    const Uncovered found = uncovered_speech(each.speech, covering(each.covered));
    const auto index = &each - cases;
    EXPECT_DOUBLE_EQ(found.total_s, each.total) << "case " << index;
    EXPECT_DOUBLE_EQ(found.start_s, each.start) << "case " << index;
    EXPECT_DOUBLE_EQ(found.end_s, each.end) << "case " << index;
  }
}

}  // namespace
}  // namespace verbatim::vibevoice
