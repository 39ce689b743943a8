// The two reference parsers; the expected values were taken from Python's json module.
#include "models/vibevoice/strict_segments.h"

#include <gtest/gtest.h>

namespace verbatim::vibevoice {
namespace {

std::string spelled(const std::vector<StrictSegment>& segments) {
  std::string out;
  for (const StrictSegment& s : segments)
    out += s.start + "|" + s.end + "|" + s.speaker + "|" + s.text + "\n";
  return out;
}

std::string ms(std::string_view text) {
  return spelled(parse_strict_ms(text));
}

std::string hf(std::string_view text) {
  std::vector<StrictSegment> segments;
  std::string stripped;
  return parse_strict_hf(text, segments, stripped) ? spelled(segments) : "text:" + stripped;
}

constexpr const char* kPlain =
    "assistant\n[{\"Start\":0,\"End\":5.20,\"Speaker\":0,\"Content\":\"a\"},{\"Start\":5.2,"
    "\"End\":7,\"Content\":\"[Music]\"}]\n";

TEST(StrictMs, KeepsValuesAsTheyAre) {
  EXPECT_EQ(ms(kPlain), "0|5.2|0|\"a\"\n5.2|7||\"[Music]\"\n");
  EXPECT_EQ(ms(R"([{"Start":"1","End":null,"Speaker":"N/A","Content":["x",1]}])"),
            "\"1\"|null|\"N/A\"|[\"x\",1]\n");
}

TEST(StrictMs, TheShortSpellingWinsAndUnknownElementsGo) {
  EXPECT_EQ(
      ms(R"([{"Start":1,"Start time":2,"End time":3,"Speaker ID":4,"Content":"a"},5,{"x":1}])"),
      "1|3|4|\"a\"\n");
}

TEST(StrictMs, ASingleObjectIsAList) {
  EXPECT_EQ(ms(R"(x {"Content":"a"} y)"), "|||\"a\"\n");
}

TEST(StrictMs, ReadsInsideAFence) {
  EXPECT_EQ(ms("[no] ```json\n[{\"Content\":\"a\"}]\n``` [x]"), "|||\"a\"\n");
  // Without a closing fence the last character is lost.
  EXPECT_EQ(ms("```json\n[{\"Content\":\"a\"}]\n"), "|||\"a\"\n");
  EXPECT_EQ(ms("```json\n[{\"Content\":\"a\"}]"), "");
}

TEST(StrictMs, BracketsInsideContentBreakIt) {
  EXPECT_EQ(ms(R"([{"Content":"a ] b"}])"), "");
  EXPECT_EQ(ms(R"([{"Content":"a [b] c"}])"), "|||\"a [b] c\"\n");
  EXPECT_EQ(ms(R"([Silence] [{"Content":"a"}])"), "");
}

TEST(StrictMs, AnyFailureIsEmpty) {
  for (const char* text :
       {"", "plain", "[{\"Content\":\"a\"}", "[{\"Content\":\"a\",}]", "5", "\"s\""})
    EXPECT_EQ(ms(text), "") << text;
}

TEST(StrictHf, TimesBecomeFloats) {
  EXPECT_EQ(hf(kPlain), "0.0|5.2|0|\"a\"\n5.2|7.0||\"[Music]\"\n");
  EXPECT_EQ(hf(R"([{"Start":true,"End":null,"Speaker":"N/A","Content":7}])"),
            "1.0|null|\"N/A\"|7\n");
  EXPECT_EQ(hf("[]"), "");
}

TEST(StrictHf, CompleteElementsOfBrokenJsonAreKept) {
  EXPECT_EQ(hf(R"([{"Content":"a"},{"Content":"b"},{"Content":"c)"), "|||\"a\"\n|||\"b\"\n");
  EXPECT_EQ(hf(R"([{"Content":"a"}] and more)"), "|||\"a\"\n");
  EXPECT_EQ(hf(R"([{"Content":"a"} , ,{"Content":"b"}} x)"), "|||\"a\"\n|||\"b\"\n");
}

TEST(StrictHf, ElseItIsTheStrippedText) {
  EXPECT_EQ(hf("assistant\n plain \n"), "text:plain");
  EXPECT_EQ(hf(" {\"Content\":\"a\"} "), "text:{\"Content\":\"a\"}");
  EXPECT_EQ(hf("[{\"Start\":1}]"), "text:[{\"Start\":1}]");
  EXPECT_EQ(hf("[{\"Start\":\"1\",\"Content\":\"a\"}]"),
            "text:[{\"Start\":\"1\",\"Content\":\"a\"}]");
  EXPECT_EQ(hf("[{\"Content\":\"a\"},5]"), "text:[{\"Content\":\"a\"},5]");
  EXPECT_EQ(hf("[{\"Content\":\"a\"},5"), "text:[{\"Content\":\"a\"},5");
  EXPECT_EQ(hf("[{\"Content\":\"a"), "text:[{\"Content\":\"a");
}

}  // namespace
}  // namespace verbatim::vibevoice
