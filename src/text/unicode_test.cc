// Against the tables that tools/fixtures/make_tokenizer_golden.py and make_tekken_golden.py took
// from the references' libraries.
#include "text/unicode.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"

namespace verbatim {
namespace {

constexpr char32_t kCodes = 0x110000;

bool is_surrogate(char32_t code) {
  return code >= 0xD800 && code < 0xE000;
}

const boost::json::value& golden() {
  static const boost::json::value value =
      parse_json(read_file("tests/golden/unicode.json", 1 << 20), "unicode.json");
  return value;
}

std::vector<bool> members(const boost::json::value& ranges) {
  std::vector<bool> is_member(kCodes, false);
  for (const boost::json::value& range : ranges.as_array()) {
    for (std::int64_t code = range.at(0).as_int64(); code <= range.at(1).as_int64(); ++code)
      is_member[static_cast<std::size_t>(code)] = true;
  }
  return is_member;
}

std::string text_at(const boost::json::value& row, std::size_t index) {
  const boost::json::string& text = row.at(index).as_string();
  return std::string(text.data(), text.size());
}

std::string utf8(std::u32string_view codes) {
  std::string out;
  for (const char32_t code : codes) append_utf8(out, code);
  return out;
}

TEST(Unicode, ClassesAreTheReferencesForEveryCodePoint) {
  const std::vector<bool> letters = members(golden().at("letters"));
  const std::vector<bool> numbers = members(golden().at("numbers"));
  const std::vector<bool> spaces = members(golden().at("spaces"));
  for (char32_t code = 0; code < kCodes; ++code) {
    if (is_surrogate(code)) continue;
    const CharacterClass kind = character_class(code);
    const bool is_space = kind == CharacterClass::kSpace || kind == CharacterClass::kNewline;
    ASSERT_EQ(kind == CharacterClass::kLetter, letters[code]) << std::hex << std::size_t{code};
    ASSERT_EQ(kind == CharacterClass::kNumber, numbers[code]) << std::hex << std::size_t{code};
    ASSERT_EQ(is_space, spaces[code]) << std::hex << std::size_t{code};
    ASSERT_EQ(kind == CharacterClass::kNewline, code == U'\n' || code == U'\r');
  }
}

TEST(Unicode, LetterKindsAreTheReferencesForEveryCodePoint) {
  const boost::json::value tekken =
      parse_json(read_file("tests/golden/tekken/encode.json", 1 << 20), "encode.json");
  const std::vector<bool> upper = members(tekken.at("upper"));
  const std::vector<bool> lower = members(tekken.at("lower"));
  const std::vector<bool> both = members(tekken.at("both"));
  for (char32_t code = 0; code < kCodes; ++code) {
    if (is_surrogate(code)) continue;
    const LetterKind kind = letter_kind(code);
    ASSERT_EQ(kind == LetterKind::kUpper, upper[code]) << std::hex << std::size_t{code};
    ASSERT_EQ(kind == LetterKind::kLower, lower[code]) << std::hex << std::size_t{code};
    ASSERT_EQ(kind == LetterKind::kBoth, both[code]) << std::hex << std::size_t{code};
  }
}

TEST(Unicode, MarksThatMoveAreTheReferencesForEveryCodePoint) {
  const std::vector<bool> marks = members(golden().at("marks"));
  for (char32_t code = 0; code < kCodes; ++code) {
    if (is_surrogate(code)) continue;
    const std::string between = nfc(utf8(std::u32string{0x0345, code, 0x0334}));
    ASSERT_EQ(between.starts_with("\xCC\xB4"), marks[code]) << std::hex << std::size_t{code};
  }
}

TEST(Unicode, EveryDecompositionComposesAsTheReferencesDoes) {
  ASSERT_GT(golden().at("forms").as_array().size(), 3000u);
  for (const boost::json::value& row : golden().at("forms").as_array())
    ASSERT_EQ(nfc(text_at(row, 0)), text_at(row, 1)) << text_at(row, 0);
}

TEST(Unicode, RunsOfMarksAreOrderedAsTheReferencesAre) {
  for (const boost::json::value& row : golden().at("orders").as_array())
    ASSERT_EQ(nfc(text_at(row, 0)), text_at(row, 1)) << text_at(row, 0);
}

TEST(Unicode, EveryHangulSyllableComposesFromItsLetters) {
  for (char32_t code = 0xAC00; code < 0xD7A4; ++code) {
    const char32_t index = code - 0xAC00;
    std::u32string letters = {0x1100 + index / 588, 0x1161 + index % 588 / 28};
    if (index % 28 != 0) letters.push_back(0x11A7 + index % 28);
    ASSERT_EQ(nfc(utf8(letters)), utf8(std::u32string(1, code)));
  }
}

TEST(Unicode, NormalFormIsItsOwnNormalForm) {
  for (const boost::json::value& row : golden().at("orders").as_array())
    ASSERT_EQ(nfc(text_at(row, 1)), text_at(row, 1));
}

TEST(Unicode, LongRunsOfMarksAreOrderedWithoutDelay) {
  // An insertion sort would need some 10^10 steps here.
  std::u32string marks;
  for (int i = 0; i < 150000; ++i) marks += {0x0301, 0x0323};
  const std::string text = nfc(utf8(marks));
  EXPECT_EQ(text, utf8(std::u32string(150000, 0x0323) + std::u32string(150000, 0x0301)));
}

TEST(Unicode, MarksOfOneClassKeepTheirOrder) {
  // More than the sixteen that any sort happens to keep in order.
  std::u32string marks = U"x";
  for (int i = 0; i < 12; ++i) marks += {0x030D, 0x0316, 0x030E, 0x0317};
  std::u32string expected = U"x";
  for (int i = 0; i < 12; ++i) expected += {0x0316, 0x0317};
  for (int i = 0; i < 12; ++i) expected += {0x030D, 0x030E};
  EXPECT_EQ(nfc(utf8(marks)), utf8(expected));
}

TEST(Unicode, CodePointsOfInvalidBytesAreReplaced) {
  for (const char* bytes : {"a\x80\xE1\x80\xE2\xF0\x91\x92\xF1\xBF", "\xED\xA0\x80z", "\xF0\x9F"})
    EXPECT_EQ(utf8(code_points(bytes)), to_valid_utf8(bytes));
}

}  // namespace
}  // namespace verbatim
