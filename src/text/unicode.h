// Characters: UTF-8 read with replacement, canonical composition (NFC) and the classes of the split
// rule, as the reference's tokenizer library has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

constexpr char32_t kReplacementCharacter = 0xFFFD;

enum class Utf8Status : std::uint8_t {
  kWhole,       // a character
  kInvalid,     // bytes no continuation can mend: one U+FFFD stands for `length` of them
  kIncomplete,  // the text ends inside a character that may still become whole
};

struct Utf8Character {
  char32_t code = kReplacementCharacter;
  std::size_t length = 0;  // bytes: 1 to 4, 1 to 3 unless whole
  Utf8Status status = Utf8Status::kInvalid;
};

// The character at the start of `bytes`, which is not empty. What cannot be read ends where the
// longest valid beginning of a character ends (Unicode 15, section 3.9, "maximal subpart"; the rule
// of CPython's errors="replace").
Utf8Character next_character(std::string_view bytes);

void append_utf8(std::string& out, char32_t code);

// `bytes` with U+FFFD in the place of what is no UTF-8, an unfinished end included.
std::string to_valid_utf8(std::string_view bytes);

// The code points of `bytes`, replaced in the same way.
std::u32string code_points(std::string_view bytes);

// Normal form C of valid UTF-8. Characters that the reference's normaliser does not know (its
// tables are of Unicode 9) stay as they are and keep their place.
std::string nfc(std::string_view text);

enum class CharacterClass : std::uint8_t {
  kLetter,   // \p{L}
  kNumber,   // \p{N}
  kNewline,  // \r and \n
  kSpace,    // the rest of \s: White_Space
  kOther,    // everything else, unassigned code points included
};

CharacterClass character_class(char32_t code);

}  // namespace verbatim
