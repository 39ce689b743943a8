// Every format, byte for byte, against tests/golden/writers; and the cases that goldens hide.
#include "transcript/writer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "transcript/deflate.h"

namespace verbatim {
namespace {

Segment segment(double start_s, double end_s, std::int32_t speaker, std::string text,
                std::vector<std::int32_t> tokens = {}) {
  Segment made;
  made.start_s = start_s;
  made.end_s = end_s;
  made.speaker = speaker;
  made.text = std::move(text);
  made.tokens = std::move(tokens);
  return made;
}

Transcript finished(Transcript transcript) {
  transcript.text = join_texts(transcript.segments);
  return transcript;
}

// Two speakers, music, an empty segment, long text, CJK, and everything that needs an escape.
Transcript meeting() {
  Transcript t;
  t.source = "recordings/team meeting 1.wav";
  t.language = "english";
  t.segments = {
      segment(0, 2.5, -1, "[Music]"),
      segment(2.5, 11.11, 1,
              "And so, my fellow Americans, ask not what your country can do for you.",
              {1597, 773}),
      segment(11.11, 12, 0, " He said \"yes\" & <no> --> a\\b/c\tand\n\nleft. ", {1}),
      segment(12, 13.255, 0, ""),
      segment(
          59.9999, 75.5, 0,
          "It was the best of times, it was the worst of times, it was the age of wisdom, it was "
          "the age of foolishness, it was the epoch of belief, it was the epoch of incredulity."),
      segment(75.5, 80, 2, "\u6211\u4eec\u5f00\u59cb\u5427\u3002"),
      segment(80, 85, 2,
              "\u4eca\u5929\u7684\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed"
              "\u6563\u6b65\uff0c\u7136\u540e\u4e00\u8d77\u5403\u996d\u3002\u4eca\u5929\u7684"
              "\u5929\u6c14\u5f88\u597d\uff0c\u6211\u4eec\u53bb\u516c\u56ed\u6563\u6b65\u3002"),
      segment(86, 86, 1, "line\u2028separator \xff\xc3 caf\u00e9 \U0001F600"),
      segment(359999.9996, 360001.25, 26, "After a hundred hours."),
  };
  t.usage = {360001.2504, 911, 402};
  t.warnings = {
      {"uncovered", "12.50 s of speech from 13.26 s on are in no segment.", 13.26, 25.76}};
  return finished(t);
}

// Of a model that gives word times: text longer than a cue with a pause in it, one segment without
// words, CJK, a word that needs an escape, and times that end behind the audio.
Transcript speech() {
  Transcript t;
  t.source = "call.flac";
  t.segments = {
      segment(
          0.16, 9.84, -1,
          "The quick brown fox jumps over the lazy dog while nobody in the whole village looks.",
          {1001, 1002}),
      segment(9.84, 11, -1, "[Music]"),
      segment(11, 12.4, -1, "\u4eca\u5929\u5f88\u597d\u3002\u6211\u4eec\u8d70"),
      segment(12.4, 13.28, -1, "He said \"no\"."),
  };
  t.segments[0].words = {{0.16, 0.3, "The"},      {0.3, 0.64, "quick"},   {0.64, 1.04, "brown"},
                         {1.04, 1.36, "fox"},     {1.36, 1.76, "jumps"},  {1.76, 2.08, "over"},
                         {2.08, 2.16, "the"},     {2.16, 2.48, "lazy"},   {2.48, 2.88, "dog"},
                         {3.4349, 3.76, "while"}, {3.76, 4.48, "nobody"}, {4.48, 4.64, "in"},
                         {5.5, 5.7, "the"},       {5.7, 6.1, "whole"},    {8.5, 9.2, "village"},
                         {9.2, 9.84, "looks."}};
  t.segments[2].words = {{11, 11.6, "\u4eca\u5929\u5f88\u597d\u3002"},
                         {11.7, 12.4, "\u6211\u4eec\u8d70"}};
  t.segments[3].words = {{12.4, 12.6, "He"}, {12.6, 12.96, "said"}, {12.96, 13.28, "\"no\"."}};
  t.usage = {13.2, 40, 160};
  return finished(t);
}

WriterOptions options() {
  WriterOptions made;
  made.model = "vibevoice-asr-nano";
  return made;
}

std::string write(std::string_view format, const Transcript& transcript) {
  return find_writer(format).write(transcript, options());
}

std::string golden(const std::string& name) {
  return read_file("tests/golden/writers/" + name, 1 << 20);
}

class EveryWriter : public testing::TestWithParam<const Writer*> {};

TEST_P(EveryWriter, GivesTheGoldenBytes) {
  const Writer& writer = *GetParam();
  EXPECT_EQ(writer.write(meeting(), options()), golden(std::string("meeting.") + writer.extension));
}

TEST_P(EveryWriter, GivesTheGoldenBytesOfAnEmptyTranscript) {
  const Writer& writer = *GetParam();
  EXPECT_EQ(writer.write(Transcript(), options()),
            golden(std::string("empty.") + writer.extension));
}

TEST_P(EveryWriter, GivesTheGoldenBytesOfWords) {
  const Writer& writer = *GetParam();
  WriterOptions with_words = options();
  with_words.words = true;
  EXPECT_EQ(writer.write(speech(), with_words), golden(std::string("speech.") + writer.extension));
}

TEST_P(EveryWriter, WritesValidUtf8Whatever) {
  Transcript t = meeting();
  for (Segment& s : t.segments) s.text = "\xff\xf0\x9f\x98 a\xed\xa0\x80" + s.text + "\xe2\x82";
  t.text = "\x80" + t.text;
  const std::string bytes = GetParam()->write(t, options());
  EXPECT_EQ(to_valid_utf8(bytes), bytes);
}

INSTANTIATE_TEST_SUITE_P(Writers, EveryWriter,
                         testing::ValuesIn(writers().begin(), writers().end()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(Writers, NamesAndExtensionsAreUnique) {
  std::set<std::string> names;
  std::set<std::string> extensions;
  for (const Writer* writer : writers()) {
    EXPECT_TRUE(names.insert(writer->name).second) << writer->name;
    EXPECT_TRUE(extensions.insert(writer->extension).second) << writer->extension;
    EXPECT_EQ(&find_writer(writer->name), writer);
  }
  EXPECT_EQ(names.size(), 9U);
}

TEST(Writers, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    find_writer("docx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_STREQ(error.what(),
                 "format \"docx\" is unknown; expected one of text, json, verbose_json, "
                 "diarized_json, srt, vtt, tsv, rttm, ctm");
  }
}

TEST(Writers, JsonBodiesParse) {
  for (const char* name : {"json", "verbose_json", "diarized_json"}) {
    const boost::json::value body = parse_json(write(name, meeting()), name);
    EXPECT_EQ(body.at("segments").as_array().size(), meeting().segments.size());
    EXPECT_EQ(body.at("warnings").as_array().size(), 1U);
    EXPECT_EQ(body.at("usage").at("seconds").as_int64(), 360002);
  }
}

TEST(Writers, SubtitlesShowSpeakersFromTwoOn) {
  Transcript t;
  t.segments = {segment(0, 1, 3, "a"), segment(1, 2, -1, "b"), segment(2, 3, 7, " ")};
  EXPECT_EQ(write("srt", t),
            "1\n00:00:00,000 --> 00:00:01,000\na\n\n2\n00:00:01,000 --> 00:00:02,000\nb\n\n");
  t.segments[2].text = "c";
  EXPECT_EQ(write("srt", t),
            "1\n00:00:00,000 --> 00:00:01,000\n[Speaker 3] a\n\n"
            "2\n00:00:01,000 --> 00:00:02,000\nb\n\n"
            "3\n00:00:02,000 --> 00:00:03,000\n[Speaker 7] c\n\n");
  EXPECT_EQ(write("vtt", t),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n<v Speaker 3>a\n"
            "\n00:00:01.000 --> 00:00:02.000\nb\n"
            "\n00:00:02.000 --> 00:00:03.000\n<v Speaker 7>c\n");
}

TEST(Writers, CtmWritesWordsWhereThereAreAny) {
  Transcript t;
  t.source = "/data/call.2024.flac";
  t.segments = {segment(1, 3, 0, "Hello you."), segment(0.5, 1, 0, "no words")};
  t.segments[0].words = {{1, 1.4, "Hello"}, {2.25, 3, "you."}};
  EXPECT_EQ(write("ctm", t),
            "call.2024 1 0.50 0.50 no_words\ncall.2024 1 1.00 0.40 Hello\n"
            "call.2024 1 2.25 0.75 you.\n");
}

TEST(Writers, WordsAreWrittenWhenAskedForAndKnown) {
  const auto has_words = [](const char* format, const Transcript& t, bool asked) {
    WriterOptions given = options();
    given.words = asked;
    return find_writer(format).write(t, given).find("\"words\"") != std::string::npos;
  };
  for (const char* format : {"json", "verbose_json"}) {
    EXPECT_TRUE(has_words(format, speech(), true));
    EXPECT_FALSE(has_words(format, speech(), false));
    // An empty list would say that nobody spoke a word.
    EXPECT_FALSE(has_words(format, meeting(), true));
  }
}

TEST(Writers, NonSpeechIsMarkedInVerboseJson) {
  Transcript t;
  t.segments = {segment(0, 1, -1, "[Human Sounds]"), segment(1, 2, 0, "[Music] plays")};
  const boost::json::value body = parse_json(write("verbose_json", t), "body");
  EXPECT_EQ(body.at("segments").at(0).at("no_speech_prob").as_double(), 1.0);
  EXPECT_EQ(body.at("segments").at(1).at("no_speech_prob").as_double(), 0.0);
}

TEST(Writers, RepetitionShowsInTheCompressionRatio) {
  EXPECT_EQ(compression_ratio(""), 1.0);
  EXPECT_LT(compression_ratio("Short."), 1.0);
  std::string loop;
  for (int i = 0; i < 100; ++i) loop += "and so on ";
  EXPECT_GT(compression_ratio(loop), 20.0);
  // python3: c = zlib.compressobj(6, zlib.DEFLATED, -15); 108 / len(c.compress(t) + c.flush())
  EXPECT_EQ(compression_ratio("And so, my fellow Americans, ask not what your country can do for "
                              "you, ask what you can do for your country."),
            1.46);
}

}  // namespace
}  // namespace verbatim
