// Counting, joining of texts, blanks.
#include "transcript/characters.h"

#include <gtest/gtest.h>

#include "transcript/event.h"

namespace verbatim {
namespace {

TEST(CountCharacters, BrokenPiecesCountAsOne) {
  EXPECT_EQ(count_characters("a\u00e9\xFF\U0001F600"), 4);
  EXPECT_EQ(count_characters("\xF0\x9F\x98 a"), 3);
  EXPECT_EQ(count_characters(""), 0);
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
