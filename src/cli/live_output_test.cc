// What a reader sees of a live stream.
#include "cli/live_output.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

struct Shown {
  std::string out;
  std::string people;
};

LiveSink into(Shown& shown) {
  return {[&](std::string_view text) { shown.out += text; },
          [&](std::string_view line) { shown.people += std::string(line) + "\n"; }};
}

TEST(TextOutput, IsTheDeltasAsTheyComeAndOneLineEnd) {
  Shown shown;
  const auto output = make_live_output("text", into(shown));
  output->delta({" open", 0.4, 0.48});
  EXPECT_EQ(shown.out, "open");
  output->delta({" the", 0.5, 0.6});
  output->word({0.4, 0.5, "open"});
  output->delta({" door", 0.6, 0.7});
  EXPECT_EQ(shown.out, "open the door");
  output->end({});
  EXPECT_EQ(shown.out, "open the door\n");
  EXPECT_EQ(shown.people, "");
}

TEST(TextOutput, NothingSaidIsNothingWritten) {
  Shown shown;
  const auto output = make_live_output("text", into(shown));
  output->delta({"", 0, 0});
  output->end({});
  EXPECT_EQ(shown.out, "");
}

TEST(TextOutput, WhatATerminalWouldObeyIsABlank) {
  Shown shown;
  const auto output = make_live_output("text", into(shown));
  output->delta({"a\x1b[2Jb\xc2\x9b\x7f\r\xffz\n", 0, 0});
  EXPECT_EQ(shown.out, "a [2Jb   \xEF\xBF\xBDz\n");
  output->end({});

  EXPECT_EQ(shown.out.find("\n\n"), std::string::npos);
}

TEST(TextOutput, SegmentsAreLinesWhereNoDeltasShowedThem) {
  Shown shown;
  const auto output = make_live_output("text", into(shown));
  Segment segment;
  segment.start_s = 0.4;
  segment.end_s = 1.3;
  segment.speaker = 1;
  segment.text = "open door";
  output->segment(segment);
  EXPECT_EQ(shown.out, "[0.40 - 1.30] Speaker 1: open door\n");
  shown.out.clear();
  output->delta({"open door", 0.4, 1.3});
  output->segment(segment);
  EXPECT_EQ(shown.out, "open door");
}

TEST(TextOutput, WarningsAndLagAreForPeople) {
  Shown shown;
  const auto output = make_live_output("text", into(shown));
  output->delta({" yes", 0, 1});
  output->warning({"loop", "it repeats", 1, 2});
  output->warning({"audio_truncated", "the audio ends inside a frame", 0, 0});
  output->lag({2.25, 9});
  output->lag({0, 12});
  EXPECT_EQ(shown.out, "yes");
  EXPECT_EQ(shown.people,
            "verbatim: warning: it repeats (loop, 1.00 - 2.00 s)\n"
            "verbatim: warning: the audio ends inside a frame (audio_truncated)\n"
            "verbatim: the text is 2.2 s behind the audio\n"
            "verbatim: the text has caught up with the audio\n");
}

TEST(TextOutput, OnOneScreenALineForPeopleBreaksTheText) {
  std::string screen;
  LiveSink sink{[&](std::string_view text) { screen += text; },
                [&](std::string_view line) { screen += std::string(line) + "\n"; }, true};
  const auto output = make_live_output("text", sink);
  output->lag({2, 9});
  output->delta({" yes", 0, 1});
  output->lag({4, 9});
  output->delta({" sir", 0, 1});
  output->end({});
  EXPECT_EQ(screen,
            "verbatim: the text is 2.0 s behind the audio\nyes\n"
            "verbatim: the text is 4.0 s behind the audio\nsir\n");
}

TEST(JsonLinesOutput, EveryEventIsOneObjectWithItsTypeFirst) {
  Shown shown;
  const auto output = make_live_output("jsonl", into(shown));
  Segment segment;
  segment.end_s = 2;
  segment.text = "a b";
  write_event(*output, Progress{"decode", 1, 0, 3});
  write_event(*output, TextDelta{" \"a\"\n", 0.16, 0.24});
  write_event(*output, WordDone{{0.1612, 0.5, "a"}});
  write_event(*output, SegmentDone{segment});
  write_event(*output, Warning{"loop", "it repeats", 1, 2});
  output->lag({1.5, 9.92});
  Transcript transcript;
  transcript.text = "a b";
  transcript.usage.audio_s = 2.0005;
  transcript.warnings.push_back({"loop", "it repeats", 1, 2});
  output->end(transcript);
  EXPECT_EQ(shown.out,
            R"({"type":"delta","text":" \"a\"\n","start":0.16,"end":0.24}
{"type":"word","text":"a","start":0.16,"end":0.5}
{"type":"segment","text":"a b","start":0.0,"end":2.0,"speaker_id":null,"speaker":null}
{"type":"warning","code":"loop","message":"it repeats","start":1.0,"end":2.0}
{"type":"lag","seconds":1.5,"position":9.92}
{"type":"final","text":"a b","duration":2.001,"warnings":[{"code":"loop","message":"it repeats","start":1.0,"end":2.0}]}
)");
  EXPECT_EQ(shown.people, "");
}

}  // namespace
}  // namespace verbatim
