// UTF-8 as every room reads and writes it: one character at a time, with U+FFFD for what is none.
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

// `code` is at most U+10FFFF.
void append_utf8(std::string& out, char32_t code);

// `bytes` with U+FFFD in the place of what is no UTF-8, an unfinished end included.
std::string to_valid_utf8(std::string_view bytes);

// A name from a file as a message shows it: valid UTF-8, control characters as '?', and "..." in
// the place of what lies beyond `most_bytes`.
std::string shown_name(std::string_view name, std::size_t most_bytes = 200);

}  // namespace verbatim
