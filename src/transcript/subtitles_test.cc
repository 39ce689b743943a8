// Line breaking and timing of subtitle cues.
#include "transcript/subtitles.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "transcript/characters.h"

namespace verbatim {
namespace {

Segment segment(double start_s, double end_s, std::int32_t speaker, std::string text) {
  Segment made;
  made.start_s = start_s;
  made.end_s = end_s;
  made.speaker = speaker;
  made.text = std::move(text);
  return made;
}

std::vector<Cue> cues_of(std::vector<Segment> segments, std::int32_t max_line_chars = 42,
                         bool prefix_is_text = true) {
  Transcript transcript;
  transcript.segments = std::move(segments);
  WriterOptions options;
  options.max_line_chars = max_line_chars;
  return make_cues(transcript, options, prefix_is_text);
}

std::string shown(const std::vector<Cue>& cues) {
  std::string out;
  for (const Cue& cue : cues) {
    out += std::to_string(cue.start_ms) + "-" + std::to_string(cue.end_ms);
    for (const std::string& line : cue.lines) out += " |" + line;
    out += "\n";
  }
  return out;
}

TEST(CueTime, HoursMayHaveMoreThanTwoDigits) {
  EXPECT_EQ(cue_time(0, ','), "00:00:00,000");
  EXPECT_EQ(cue_time(59'999, '.'), "00:00:59.999");
  EXPECT_EQ(cue_time(3'599'999, ','), "00:59:59,999");
  EXPECT_EQ(cue_time(360'000'000, ','), "100:00:00,000");
}

TEST(Cues, ShortTextIsOneLine) {
  EXPECT_EQ(shown(cues_of({segment(59.9999, 61, 0, "Hello.")})), "60000-61000 |Hello.\n");
}

TEST(Cues, EndIsAtLeastAMillisecondAfterStart) {
  EXPECT_EQ(shown(cues_of({segment(2, 2, 0, "a"), segment(3, 1, 0, "b")})),
            "2000-2001 |a\n3000-3001 |b\n");
  EXPECT_EQ(shown(cues_of({segment(2, 2, 0, "aaaa bbbb cccc dddd eeee")}, 4)),
            "2000-2001 |aaaa |bbbb\n2001-2002 |cccc |dddd\n2002-2003 |eeee\n");
}

TEST(Cues, SegmentsWithoutTextAreLeftOut) {
  EXPECT_TRUE(cues_of({segment(0, 1, 0, ""), segment(1, 2, 0, " \n\u2028")}).empty());
}

TEST(Cues, LinesAreEvenAndNoLongerThanTheLimit) {
  EXPECT_EQ(shown(cues_of({segment(0, 4, 0, "one two three four five six seven")}, 30)),
            "0-4000 |one two three four |five six seven\n");
  // Five lines: the cues divide the time in proportion to their characters.
  EXPECT_EQ(
      shown(cues_of({segment(0, 10, 0, "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj")}, 9)),
      "0-4000 |aaaa bbbb |cccc dddd\n4000-8000 |eeee ffff |gggg hhhh\n8000-10000 |iiii jjjj\n");
}

Segment spoken(std::string text, std::vector<Word> words) {
  Segment made = segment(words.front().start_s, words.back().end_s, -1, std::move(text));
  made.words = std::move(words);
  return made;
}

TEST(Cues, LongTextIsCutAtWordTimes) {
  const Segment long_one = spoken("one two --> three. four five", {{0, 1, "one"},
                                                                   {1, 2, "two"},
                                                                   {2, 2, "-->"},
                                                                   {2.5, 3, "three."},
                                                                   {5, 6, "four"},
                                                                   {7, 7.5, "five"}});
  EXPECT_EQ(shown(cues_of({long_one}, 10)), "0-3000 |one two |-> three.\n5000-7500 |four five\n");
  EXPECT_EQ(shown(cues_of({long_one}, 80)), "0-7500 |one two -> three. four five\n");
  // The segment's own times are the outer ones, and no word reaches beyond them.
  Segment narrow = long_one;
  narrow.start_s = 0.5;
  narrow.end_s = 7;
  EXPECT_EQ(shown(cues_of({narrow}, 10)), "500-3000 |one two |-> three.\n5000-7000 |four five\n");
  Segment wider = long_one;
  wider.words.front().start_s = 0.75;
  wider.end_s = 8;
  EXPECT_EQ(shown(cues_of({wider}, 10)), "0-3000 |one two |-> three.\n5000-8000 |four five\n");
}

TEST(Cues, AWordThatIsCutDividesItsOwnTime) {
  EXPECT_EQ(
      shown(cues_of(
          {spoken("aa bbbbbbbbbbbb c", {{0, 1, "aa"}, {2, 5, "bbbbbbbbbbbb"}, {6, 7, "c"}})}, 4)),
      "0-3000 |aa |bbbb\n3000-5000 |bbbb |bbbb\n6000-7000 |c\n");
  EXPECT_EQ(
      shown(cues_of({spoken("\u4e00\u4e8c\u4e09\u56db\u3002\u4e94\u516d\u4e03\u516b\u4e5d",
                            {{0, 1, "\u4e00\u4e8c"},
                             {2, 3, "\u4e09\u56db\u3002"},
                             {4, 9, "\u4e94\u516d\u4e03\u516b\u4e5d"}})},
                    4)),
      "0-6000 |\u4e00\u4e8c\u4e09 |\u56db\u3002\u4e94\u516d\n6000-9000 |\u4e03\u516b\u4e5d\n");
}

TEST(Cues, WordsThatAreNotTheTextDoNotTimeIt) {
  const std::vector<Word> words{{0, 1, "one"}, {8, 9, "two"}};
  const std::string proportional = shown(cues_of({segment(0, 9, -1, "one two four")}, 4));
  EXPECT_EQ(shown(cues_of({spoken("one two four", words)}, 4)), proportional);
}

TEST(Cues, WordsThatOverlapGiveCuesThatDoNot) {
  EXPECT_EQ(shown(cues_of({spoken("aaaa bbbb cccc dddd eeee ffff", {{0, 1, "aaaa"},
                                                                    {1, 3, "bbbb"},
                                                                    {2, 2.5, "cccc"},
                                                                    {2.5, 2.75, "dddd"},
                                                                    {2.5, 2.5, "eeee"},
                                                                    {4, 5, "ffff"}})},
                          4)),
            "0-3000 |aaaa |bbbb\n3000-3001 |cccc |dddd\n3001-5000 |eeee |ffff\n");
}

TEST(Cues, EveryLineKeepsTheLimitAndNoWordIsLost) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += std::string(1 + static_cast<std::size_t>(i * 7 % 23), 'a') + " ";
  for (const std::int32_t limit : {16, 20, 31, 42, 80}) {
    const std::vector<Cue> cues =
        cues_of({segment(0, 60, 0, text), segment(60, 61, 1, "b")}, limit);
    std::string back;
    std::int64_t last_ms = 0;
    for (const Cue& cue : cues) {
      EXPECT_LE(cue.lines.size(), 2U);
      EXPECT_EQ(cue.start_ms, last_ms);
      EXPECT_GT(cue.end_ms, cue.start_ms);
      last_ms = cue.end_ms;
      for (const std::string& line : cue.lines) {
        EXPECT_LE(count_characters(line), limit);
        back += line;
      }
    }
    EXPECT_EQ(last_ms, 61000);
    std::size_t letters = 0;
    for (const char c : back) letters += c == 'a' ? 1 : 0;
    std::size_t expected = 0;
    for (const char c : text) expected += c == 'a' ? 1 : 0;
    // "[Speaker 0] " has one a of its own in every cue but the last, whose speaker is the other.
    EXPECT_EQ(letters, expected + cues.size());
  }
}

TEST(Cues, ThePrefixCountsTowardsTheLine) {
  const std::string text = "aaaaaaaaaa bbbbbbbbbb";  // 21 characters
  EXPECT_EQ(shown(cues_of({segment(0, 1, 0, text), segment(1, 2, 1, "b")}, 33)),
            "0-1000 |[Speaker 0] aaaaaaaaaa bbbbbbbbbb\n1000-2000 |[Speaker 1] b\n");
  EXPECT_EQ(shown(cues_of({segment(0, 1, 0, text), segment(1, 2, 1, "b")}, 32)),
            "0-1000 |[Speaker 0] aaaaaaaaaa |bbbbbbbbbb\n1000-2000 |[Speaker 1] b\n");
  EXPECT_EQ(shown(cues_of({segment(0, 1, 0, text), segment(1, 2, 1, "b")}, 21, false)),
            "0-1000 |aaaaaaaaaa bbbbbbbbbb\n1000-2000 |b\n");
}

TEST(Cues, OneHugeWordBreaksByCharacters) {
  std::string word;
  for (int i = 0; i < 50; ++i) word += "\u00e9";
  const std::vector<Cue> cues = cues_of({segment(0, 1, 0, word)}, 20);
  ASSERT_EQ(cues.size(), 2U);
  EXPECT_EQ(count_characters(cues[0].lines[0]), 20);
  EXPECT_EQ(count_characters(cues[0].lines[1]), 20);
  EXPECT_EQ(count_characters(cues[1].lines[0]), 10);
  EXPECT_EQ(cues[0].end_ms, 800);
}

TEST(Cues, CjkBreaksAnywhereButBeforeClosingPunctuation) {
  EXPECT_EQ(
      shown(cues_of({segment(0, 1, 0, "\u4e00\u4e8c\u4e09\u56db\u3002\u4e94\u516d\u4e03")}, 4)),
      "0-750 |\u4e00\u4e8c\u4e09 |\u56db\u3002\u4e94\n"
      "750-1000 |\u516d\u4e03\n");
}

TEST(Cues, MarksStayWithTheirLetter) {
  const std::vector<Cue> cues = cues_of({segment(0, 1, 0, "\u4e00\u4e8c\u4e09\u56dbe\u0301x")}, 5);
  for (const Cue& cue : cues)
    for (const std::string& line : cue.lines) EXPECT_NE(next_character(line).code, 0x301U);
}

TEST(Cues, ArrowsInTextDoNotSurvive) {
  for (const char* text : {"a --> b", "a ---> b", "a ----->", "-->-->", "--\u200b>"})
    for (const Cue& cue : cues_of({segment(0, 1, 0, text)}))
      for (const std::string& line : cue.lines) EXPECT_EQ(line.find("-->"), std::string::npos);
  EXPECT_EQ(shown(cues_of({segment(0, 1, 0, "a --> b")})), "0-1000 |a -> b\n");
}

TEST(Cues, StartsNeverGoBack) {
  EXPECT_EQ(shown(cues_of({segment(5, 6, 0, "b"), segment(1, 9, 0, "a")})),
            "1000-9000 |a\n5000-6000 |b\n");
}

TEST(Cues, ATinyLimitStillMakesProgress) {
  for (const std::int32_t limit : {-5, 0, 1, 4})
    EXPECT_FALSE(cues_of({segment(0, 1, 0, "hello world"), segment(1, 2, 1, "b")}, limit).empty());
}

}  // namespace
}  // namespace verbatim
