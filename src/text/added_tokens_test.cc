// Which of several added tokens is found, and what stays in the text.
#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace verbatim {
namespace {

// The parts as text, tokens as their id in brackets.
std::string shown(const AddedTokens& added, std::string_view text, bool parse_special) {
  std::string out;
  for (const AddedTokens::Part& part : added.split(text, parse_special)) {
    if (!out.empty()) out += '|';
    out += part.token < 0 ? std::string(part.text) : '[' + std::to_string(part.token) + ']';
  }
  return out;
}

AddedTokens overlapping() {
  return AddedTokens({{.text = "<a", .token = 1},
                      {.text = "<ab>", .token = 2, .is_special = true},
                      {.text = "b>c", .token = 3},
                      {.text = "<ab", .token = 4}});
}

TEST(AddedTokens, TheLongestOfTheLeftmostWins) {
  EXPECT_EQ(shown(overlapping(), "x<ab>c", true), "x|[2]|c");
  EXPECT_EQ(shown(overlapping(), "x<abc", true), "x|[4]|c");
  EXPECT_EQ(shown(overlapping(), "<a<a", true), "[1]|[1]");
  EXPECT_EQ(shown(overlapping(), "<b>c", true), "<|[3]");
}

TEST(AddedTokens, NothingIsFoundInsideASpecialOneThatIsText) {
  EXPECT_EQ(shown(overlapping(), "x<ab>c<a", false), "x<ab>c|[1]");
}

TEST(AddedTokens, TextWithoutTokensIsOnePart) {
  EXPECT_EQ(shown(overlapping(), "a < b", true), "a < b");
  EXPECT_EQ(shown(AddedTokens(), "a", true), "a");
  EXPECT_TRUE(overlapping().split("", true).empty());
}

}  // namespace
}  // namespace verbatim
