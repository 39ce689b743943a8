// UTF-8: every code point survives, and what is no UTF-8 is replaced as CPython does it.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace verbatim {
namespace {

TEST(Utf8, EveryCodePointSurvives) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;  // surrogates are no characters
    std::string bytes;
    append_utf8(bytes, code);
    const Utf8Character character = next_character(bytes + "x");
    ASSERT_EQ(character.status, Utf8Status::kWhole) << std::hex << std::size_t{code};
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.length, bytes.size());
  }
}

struct Replaced {
  const char* bytes;
  const char* text;  // R stands for U+FFFD
};

// The outcomes of CPython 3.11's bytes.decode("utf-8", "replace").
constexpr Replaced kReplaced[] = {
    {"\x80", "R"},
    {"\xC0\xAF", "RR"},
    {"\xC1\xBF", "RR"},
    {"\xC3", "R"},
    {"\xC3(", "R("},
    {"\xE0\x80\x80", "RRR"},
    {"\xE0\x9F\xBF", "RRR"},
    {"\xE0\xA0", "R"},
    {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
     "A",
     "RRRRA"},
    {"\xE4\xBD"
     "a",
     "Ra"},
    {"\xED\xA0\x80", "RRR"},
    {"\xED\x9F", "R"},
    {"\xEF\xBB", "R"},
    {"\xF0\x80\x80\x80", "RRRR"},
    {"\xF0\x8F\xBF\xBF", "RRRR"},
    {"\xF0\x9F\x91", "R"},
    {"\xF0\x9F\x91"
     "a",
     "Ra"},
    {"\xF0\x9F"
     "aa",
     "Raa"},
    {"\xF4\x90\x80\x80", "RRRR"},
    {"\xF5\x80\x80\x80", "RRRR"},
    {"\xFE\xFF", "RR"},
    {"a\x80"
     "b\xFF"
     "c",
     "aRbRc"},
};

TEST(Utf8, InvalidBytesAreReplacedByTheMaximalSubpartRule) {
  for (const Replaced& row : kReplaced) {
    std::string expected;
    for (const char* letter = row.text; *letter != '\0'; ++letter)
      expected += *letter == 'R' ? "\xEF\xBF\xBD" : std::string(1, *letter);
    EXPECT_EQ(to_valid_utf8(row.bytes), expected) << row.text;
  }
}

TEST(Utf8, OnlyTheEndOfTheTextLeavesACharacterIncomplete) {
  EXPECT_EQ(next_character("\xF0\x9F\x91").status, Utf8Status::kIncomplete);
  EXPECT_EQ(next_character("\xF0\x9F\x91").length, 3U);
  EXPECT_EQ(next_character("\xF0\x9F\x91 ").status, Utf8Status::kInvalid);
  EXPECT_EQ(next_character("\x80").status, Utf8Status::kInvalid);
  EXPECT_EQ(next_character("\xF0").code, kReplacementCharacter);
}

TEST(ShownName, IsBoundedAndHasNoControlCharacters) {
  EXPECT_EQ(shown_name("model.norm.weight", 60), "model.norm.weight");
  EXPECT_EQ(shown_name("a\nb\x7F\t\x1B[1m", 60), "a?b???[1m");
  EXPECT_EQ(shown_name(std::string(9, 'x'), 8), "xxxxxxxx...");
  EXPECT_EQ(shown_name(std::string(8, 'x'), 8), "xxxxxxxx");
  EXPECT_EQ(shown_name("a\xC3\xA9", 2), "a\xEF\xBF\xBD...");  // cut inside a character
  EXPECT_EQ(shown_name(std::string("a\0b", 3), 60), "a?b");
}

}  // namespace
}  // namespace verbatim
