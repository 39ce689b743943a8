// The tolerant parser: what it keeps, in which times, and that cuts do not matter.
#include "models/vibevoice/segment_parser.h"

#include <gtest/gtest.h>

#include <random>

namespace verbatim::vibevoice {
namespace {

constexpr double kDuration = 60;

std::string spelled(const std::vector<ParsedSegment>& segments) {
  std::string out;
  for (const ParsedSegment& s : segments) {
    char times[96];
    std::snprintf(times, sizeof times, "%g%s-%g%s ", s.start_s, s.has_start ? "" : "?", s.end_s,
                  s.has_end ? "" : "?");
    out += times;
    out += s.speaker >= 0 ? std::to_string(s.speaker) : "(" + s.speaker_label + ")";
    out += " <" + s.text + ">\n";
  }
  return out;
}

struct Result {
  std::vector<ParsedSegment> segments;
  bool is_closed = false;
};

Result parse_in_pieces(std::string_view text, const std::vector<std::size_t>& cuts) {
  SegmentParser parser;
  Result result;
  std::size_t at = 0;
  const auto take = [&](std::vector<ParsedSegment> more) {
    std::move(more.begin(), more.end(), std::back_inserter(result.segments));
  };
  for (const std::size_t cut : cuts) {
    take(parser.feed(text.substr(at, cut - at)));
    at = cut;
  }
  take(parser.feed(text.substr(at)));
  take(parser.finish(kDuration));
  result.is_closed = parser.is_closed();
  return result;
}

// All at once, after making sure that byte by byte gives the same.
Result parse(std::string_view text) {
  Result result = parse_in_pieces(text, {});
  std::vector<std::size_t> every;
  for (std::size_t i = 1; i < text.size(); ++i) every.push_back(i);
  const Result bytewise = parse_in_pieces(text, every);
  EXPECT_EQ(spelled(result.segments), spelled(bytewise.segments)) << text;
  EXPECT_EQ(result.is_closed, bytewise.is_closed) << text;
  return result;
}

std::string segments_of(std::string_view text) {
  return spelled(parse(text).segments);
}

TEST(SegmentParser, ReadsWhatTheModelEmits) {
  const Result result = parse(
      "assistant\n[{\"Start\":0,\"End\":5.2,\"Speaker\":0,\"Content\":\"Hi there.\"},"
      "{\"Start\":5.2,\"End\":15.86,\"Speaker\":1,\"Content\":\"Hello.\"},"
      "{\"Start\":15.86,\"End\":20,\"Content\":\"[Music]\"}]\n");
  EXPECT_EQ(spelled(result.segments),
            "0-5.2 0 <Hi there.>\n5.2-15.86 1 <Hello.>\n15.86-20 () <[Music]>\n");
  EXPECT_TRUE(result.is_closed);
}

TEST(SegmentParser, GivesASegmentWithTheByteThatCompletesIt) {
  SegmentParser parser;
  const std::string text = "assistant\n[{\"Start\":0,\"End\":1,\"Content\":\"a\"}";
  EXPECT_TRUE(parser.feed(std::string_view(text).substr(0, text.size() - 1)).empty());
  EXPECT_EQ(parser.feed("}").size(), 1U);
  EXPECT_FALSE(parser.is_closed());
  EXPECT_TRUE(parser.feed("]").empty());
  EXPECT_TRUE(parser.is_closed());
}

TEST(SegmentParser, TellsWhereTheContentStands) {
  const std::string text =
      "assistant\n[{\"Start\":0,\"End\":1,\"Content\":\"a \\\"b\\\"\"},"
      "{\"Start\":1,\"End\":2,\"Content\":\"said \"x\" twice\"}]";
  const Result result = parse(text);
  ASSERT_EQ(result.segments.size(), 2U);
  const auto raw = [&](std::size_t i) {
    return text.substr(result.segments[i].text_begin,
                       result.segments[i].text_end - result.segments[i].text_begin);
  };
  EXPECT_EQ(raw(0), "a \\\"b\\\"");
  EXPECT_EQ(raw(1), "said \"x\" twice");
}

TEST(SegmentParser, BracketsAndQuotesInsideContentAreText) {
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Speaker":0,"Content":"a ]} [{ \"x\" }] \\"},)"
                        R"({"Start":1,"End":2,"Speaker":0,"Content":"b"}])"),
            "0-1 0 <a ]} [{ \"x\" }] \\>\n1-2 0 <b>\n");
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Content":"{\"Start\":5} \\"}])"),
            "0-1 () <{\"Start\":5} \\>\n");
}

TEST(SegmentParser, AnEscapedQuoteEndsNothing) {
  const std::string object = R"([{"Start":0,"End":1,"Speaker":0,"Content":"a 5\" ]} nail"})";
  SegmentParser parser;
  EXPECT_TRUE(parser.feed(std::string_view(object).substr(0, object.size() - 1)).empty());
  EXPECT_EQ(segments_of(object), "0-1 0 <a 5\" ]} nail>\n");
}

TEST(SegmentParser, ATagBeforeTheArrayIsNotTheArray) {
  EXPECT_EQ(segments_of(R"([Silence] [{"Start":3,"End":4,"Content":"a"}])"),
            "0?-3? () <[Silence]>\n3-4 () <a>\n");
  EXPECT_EQ(segments_of("[Silence]"), "0?-60? () <[Silence]>\n");
}

TEST(SegmentParser, UndoesEscapes) {
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Content":"\u00e9\ud83d\ude00\/\n\t\q \ud800x"}])"),
            "0-1 () <\u00e9\U0001F600/\n\t\\q \uFFFDx>\n");
}

TEST(SegmentParser, AcceptsOtherSpellingsOfKeysAndValues) {
  EXPECT_EQ(segments_of(R"([{"Start time":"1.5","End time":" 2 ","Speaker ID":"3","Content":"a"},)"
                        R"({"start_time":2,"end_time":3,"speaker_id":"Speaker 4","text":"b"},)"
                        R"({"start":3,"end":4,"speaker":"N/A","content":"c"},)"
                        R"({"Start":4,"End":5,"Speaker":null,"Text":"d"},)"
                        R"({"Start":5,"End":6,"Speaker":2.0,"Content":7},)"
                        R"({"Start":6,"End":7,"Speaker":1.5,"Content":null},)"
                        R"({"Start":7,"End":8,"Speaker":["x"],"Content":["e","f"]}])"),
            "1.5-2 3 <a>\n2-3 4 <b>\n3-4 (N/A) <c>\n4-5 () <d>\n5-6 2 <7>\n6-7 (1.5) <>\n"
            "7-8 ([\"x\"]) <e f>\n");
}

TEST(SegmentParser, TheShortSpellingWins) {
  EXPECT_EQ(segments_of(R"([{"Start":1,"Start time":9,"End time":9,"End":2,"Content":"a"}])"),
            "1-2 () <a>\n");
}

TEST(SegmentParser, AMissingEndIsTheNextStart) {
  EXPECT_EQ(segments_of(
                R"([{"Start":1,"Content":"a"},{"Start":4,"End":"x","Content":"b"},)"
                R"({"Content":"c"},{"Start":3,"End":2,"Content":"d"},{"Start":9,"Content":"e"}])"),
            "1-4? () <a>\n4-4? () <b>\n4?-4? () <c>\n3-3 () <d>\n9-9? () <e>\n");
}

TEST(SegmentParser, KeepsAnEmptySegment) {
  EXPECT_EQ(segments_of(R"([{"Start":1,"End":2,"Speaker":0,"Content":""}])"), "1-2 0 <>\n");
  EXPECT_EQ(segments_of("assistant\n[]"), "");
  EXPECT_EQ(segments_of("[{}]"), "");
  EXPECT_EQ(segments_of(""), "");
  EXPECT_EQ(segments_of("assistant\n"), "");
}

TEST(SegmentParser, QuotesWithoutBackslashLoseNothing) {
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Speaker":0,"Content":"he said "hi, you" twice"},)"
                        R"({"Start":1,"End":2,"Speaker":1,"Content":"b"}])"),
            "0-1 0 <he said \"hi, you\" twice>\n1-2 1 <b>\n");
  // An odd number of them turns inside and outside around until the next object's first key.
  const Result odd = parse(R"([{"Start":0,"End":1,"Speaker":0,"Content":"five" nails"},)"
                           R"({"Start":1,"End":2,"Speaker":1,"Content":"b"}])");
  EXPECT_EQ(spelled(odd.segments), "0-1 0 <five\" nails>\n1-2 1 <b>\n");
  EXPECT_TRUE(odd.is_closed);
}

TEST(SegmentParser, AMissingQuoteOrBraceCostsNoNeighbour) {
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Content":"a},{"Start":1,"End":2,"Content":"b"}])"),
            "0-1 () <a>\n1-2 () <b>\n");
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Content":"a",{"Start":1,"End":2,"Content":"b"}])"),
            "0-1 () <a>\n1-2 () <b>\n");
  EXPECT_EQ(segments_of(R"([{"Start":0,"End":1,"Content":"a"],)"), "0-1 () <a>\n");
  EXPECT_EQ(
      segments_of(R"([{"Start":0,"End":1,"Content":"a"}"},{"Start":1,"End":2,"Content":"b"}])"),
      "0-1 () <a>\n1-2 () <b>\n");
}

TEST(SegmentParser, UnquotedKeysAndValuesAreFound) {
  EXPECT_EQ(segments_of("[{Start: 0, End: 1.5, Speaker: N/A, Content: hello, you}]"),
            "0-1.5 (N/A) <hello, you>\n");
  EXPECT_EQ(segments_of("[{'Start': 0, 'End': 1, 'Speaker': 1, 'Content': 'it's me'}]"),
            "0-1 1 <it's me>\n");
  EXPECT_EQ(segments_of("[{\"Start\":0,\"End\":1, oh no, \"Content\":\"a\"}]"),
            "0-1 () <oh no a>\n");
}

TEST(SegmentParser, ACutOffObjectKeepsItsContent) {
  const std::string whole =
      R"([{"Start":0,"End":1,"Content":"a"},{"Start":1.5,"End":2,"Speaker":1,)"
      R"("Content":"hello \u00e9 \"you\" x"})";
  const auto cut = [&](std::size_t left) {
    const Result result = parse(std::string_view(whole).substr(0, whole.size() - left));
    EXPECT_FALSE(result.is_closed);
    return spelled(result.segments);
  };
  EXPECT_EQ(cut(0), "0-1 () <a>\n1.5-2 1 <hello \u00e9 \"you\" x>\n");
  EXPECT_EQ(cut(1), "0-1 () <a>\n1.5-2 1 <hello \u00e9 \"you\" x>\n");
  EXPECT_EQ(cut(2), "0-1 () <a>\n1.5-2 1 <hello \u00e9 \"you\" x>\n");
  EXPECT_EQ(cut(5), "0-1 () <a>\n1.5-2 1 <hello \u00e9 \"you>\n");
  EXPECT_EQ(cut(12), "0-1 () <a>\n1.5-2 1 <hello \u00e9>\n");
  EXPECT_EQ(cut(13), "0-1 () <a>\n1.5-2 1 <hello >\n");
  EXPECT_EQ(cut(17), "0-1 () <a>\n1.5-2 1 <hello >\n");
  EXPECT_EQ(cut(26), "0-1 () <a>\n");
  EXPECT_EQ(cut(60), "0-1 () <a>\n");
}

TEST(SegmentParser, ANumberThatTheTextBreaksOffInDoesNotCount) {
  EXPECT_EQ(segments_of(R"([{"Content":"a","Speaker":1,"Start":1)"), "0?-0? 1 <a>\n");
}

TEST(SegmentParser, ABracketBehindAWordEndsNoObject) {
  EXPECT_EQ(
      segments_of(
          R"([{"Start":0,"End":1,"Content":"a "b]" c "d"},{"Start":1,"End":2,"Content":"e"}])"),
      "0-1 () <a \"b]\" c \"d>\n1-2 () <e>\n");
}

TEST(SegmentParser, TextAroundTheArrayIsKept) {
  EXPECT_EQ(
      segments_of("Sure:\n```json\n[{\"Start\":2,\"End\":3,\"Content\":\"a\"}]\n```\nThat is all."),
      "0?-2? () <Sure:>\n2-3 () <a>\n3?-3? () <That is all.>\n");
  const Result result = parse("[{\"Start\":2,\"End\":3,\"Content\":\"a\"}] \n```\n");
  EXPECT_EQ(spelled(result.segments), "2-3 () <a>\n");
  EXPECT_TRUE(result.is_closed);
  EXPECT_EQ(
      segments_of(
          R"([{"Start":0,"End":1,"Content":"a"} and more {"Start":4,"End":5,"Content":"b"}])"),
      "0-1 () <a>\n1?-4? () <and more>\n4-5 () <b>\n");
}

TEST(SegmentParser, ObjectsWithoutAnArrayAndWrappedOnesAreFound) {
  EXPECT_EQ(segments_of(R"({"Start":0,"End":1,"Content":"a"})"), "0-1 () <a>\n");
  EXPECT_TRUE(parse(R"({"Start":0,"End":1,"Content":"a"})").is_closed);
  EXPECT_EQ(
      segments_of(
          "{\"Start\":0,\"End\":1,\"Content\":\"a\"}\n{\"Start\":1,\"End\":2,\"Content\":\"b\"}"),
      "0-1 () <a>\n1-2 () <b>\n");
  EXPECT_EQ(
      segments_of(
          R"({"segments": [ {"Start":0,"End":1,"Content":"a"},{"Start":1,"End":2,"Content":"b"}]})"),
      "0-1 () <a>\n1-2 () <b>\n");
  EXPECT_EQ(segments_of(R"(a { b [{"Start":0,"End":1,"Content":"c"}])"),
            "0?-0? () <a { b>\n0-1 () <c>\n");
}

TEST(SegmentParser, NestedTimesBelongToTheirObject) {
  EXPECT_EQ(
      segments_of(
          R"([{"Start":0,"End":2,"Content":"a b","Words":[{"Start":0,"End":1},{"Start":1,"End":2}]}])"),
      "0-2 () <a b>\n");
}

TEST(SegmentParser, PlainTextBecomesLabelledLinesOrOneSegment) {
  EXPECT_EQ(segments_of("assistant\n0: Hello.\nSpeaker 2: And you?\nFine."),
            "0?-60? 0 <Hello.>\n0?-60? 2 <And you?\nFine.>\n");
  EXPECT_EQ(segments_of("assistant\nWe meet at 10:30 [laughs]."),
            "0?-60? () <We meet at 10:30 [laughs].>\n");
  EXPECT_EQ(segments_of("10:30 we meet"), "0?-60? () <10:30 we meet>\n");
  EXPECT_EQ(segments_of("assistant teachers {all} of them"),
            "0?-60? () <assistant teachers {all} of them>\n");
  EXPECT_FALSE(parse("plain").is_closed);
}

// Pieces of JSON and text in random order: no run of letters or digits may vanish, but keys,
// numbers and speakers.
TEST(SegmentParser, NoWordIsEverLost) {
  const std::vector<std::string> pieces{"[",
                                        "{",
                                        "}",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\",
                                        "\\\"",
                                        " ",
                                        "\n",
                                        "```json",
                                        "```",
                                        "[{",
                                        "}]",
                                        "\"Start\":1",
                                        "\"End\":2.5",
                                        "\"Speaker\":0",
                                        "\"Content\":\"",
                                        "\"Content\":",
                                        "\"},{",
                                        "\"text\": \"",
                                        "assistant\n",
                                        "\\u00e9",
                                        "\"},\n{\"Start\":3,",
                                        "}, {",
                                        "Speaker 1: "};
  std::mt19937 random(7);
  for (int round = 0; round < 50000; ++round) {
    std::string text;
    std::vector<std::string> words;
    const std::size_t count = 1 + random() % 24;
    for (std::size_t i = 0; i < count; ++i) {
      text += pieces[random() % pieces.size()];
      if (random() % 3 != 0) continue;
      words.push_back("zq" + std::to_string(words.size()) + "x");
      text += " " + words.back() + " ";
    }
    const Result result = parse_in_pieces(text, {});
    std::string all;
    for (const ParsedSegment& s : result.segments) all += s.text + "\n" + s.speaker_label + "\n";
    for (const std::string& word : words)
      ASSERT_NE(all.find(word), std::string::npos) << word << " of\n" << text << "\ngot\n" << all;
  }
}

TEST(SegmentParser, CutsDoNotMatter) {
  const std::string text =
      "assistant\nwell ```json [{\"Start\":0,\"End\":1,\"Speaker\":0,\"Content\":\"a\\u00e9 \"b\" "
      "c\"},"
      "{\"Start\" : 1 ,\"Content\":\"five\" "
      "nails\"},{\"Start\":2,\"End\":3,\"Content\":\"\u00e9\"}]```\nbye {x} [y]";
  const std::string expected = spelled(parse(text).segments);
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::size_t> cuts;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (random() % 8 == 0) cuts.push_back(i);
    EXPECT_EQ(spelled(parse_in_pieces(text, cuts).segments), expected);
  }
}

TEST(SegmentParser, TimeGrowsWithTheText) {
  // Each of these was chosen to make a rescan as long as possible.
  for (const char* piece : {"{", "[", "[{", "{\"Start\":", "{\"Start\" :\"", "\"}", ",",
                            "\"Content\":\"", "{\"a\":[{\"Start\":1},", "{    ", "\\", "```"}) {
    std::string text = "[{\"Content\":\"";
    while (text.size() < 1'000'000) text += piece;
    parse_in_pieces(text, {});
    parse_in_pieces(std::string_view(text).substr(13), {});
  }
}

}  // namespace
}  // namespace verbatim::vibevoice
