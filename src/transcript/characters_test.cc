// Broken UTF-8, joining of texts, blanks.
#include "transcript/characters.h"

#include <gtest/gtest.h>

#include "transcript/event.h"

namespace verbatim {
namespace {

constexpr const char* kR = "\uFFFD";

std::string times(const char* text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(ValidUtf8, ReplacesEachMaximalBrokenPieceOnce) {
  EXPECT_EQ(valid_utf8("a\u00e9\u4e2d\U0001F600\U0010FFFF"), "a\u00e9\u4e2d\U0001F600\U0010FFFF");
  EXPECT_EQ(valid_utf8("\x80"), kR);
  EXPECT_EQ(valid_utf8("\xC3"), kR);
  EXPECT_EQ(valid_utf8("\xC0\x80"), times(kR, 2));          // overlong
  EXPECT_EQ(valid_utf8("\xE0\x80\x80"), times(kR, 3));      // overlong
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), times(kR, 3));      // a surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), times(kR, 4));  // beyond U+10FFFF
  EXPECT_EQ(valid_utf8("\xF0\x9F\x98"), kR);                // cut off
  EXPECT_EQ(valid_utf8("\xF0\x9F\x98 a"), kR + std::string(" a"));
  EXPECT_EQ(valid_utf8("\xE2\x82\xE2\x82\xAC"), kR + std::string("\u20AC"));
  EXPECT_EQ(count_characters("a\u00e9\xFF\U0001F600"), 4);
}

TEST(ValidUtf8, EveryCharacterComesBack) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_character(text, code);
    const Character back = character_at(text, 0);
    ASSERT_EQ(back.code, code);
    ASSERT_EQ(back.bytes, text.size());
  }
}

TEST(OneLine, BlanksOfAllKindsBecomeOneSpace) {
  EXPECT_EQ(one_line("\n a\t\r\n\nb\u2028c\u3000d\u00a0\x01"), "a b c d");
  EXPECT_EQ(one_line(" \n "), "");
  EXPECT_EQ(one_line("a b", '_'), "a_b");
  EXPECT_EQ(trimmed("\u3000a b\u2029\n"), "a b");
  EXPECT_EQ(trimmed("  "), "");
}

std::string joined(const std::vector<std::string>& texts) {
  std::vector<Segment> segments(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) segments[i].text = texts[i];
  return join_texts(segments);
}

TEST(JoinTexts, OneSpaceButNoneBetweenCjkNeighbours) {
  EXPECT_EQ(joined({" a ", "", "\n", "b\n"}), "a b");
  EXPECT_EQ(joined({"\u4f60\u597d\u3002", "\u4e16\u754c"}), "\u4f60\u597d\u3002\u4e16\u754c");
  EXPECT_EQ(joined({"\u304b\u306a", "\u30ab\u30ca"}), "\u304b\u306a\u30ab\u30ca");
  EXPECT_EQ(joined({"\u4f60\u597d", "OK", "\u4e16\u754c"}), "\u4f60\u597d OK \u4e16\u754c");
  // Korean separates words by spaces.
  EXPECT_EQ(joined({"\uc548\ub155", "\uc138\uacc4"}), "\uc548\ub155 \uc138\uacc4");
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(joined({"a\xff", "b"}), "a\uFFFD b");
}

}  // namespace
}  // namespace verbatim
