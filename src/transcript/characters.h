// Characters of UTF-8 text as the writers count, join and break them. Bytes that are no UTF-8 count
// as U+FFFD, one for each maximal broken piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // what it takes in the text it was read from
};

// The character at `position`, which lies inside `text`.
Character character_at(std::string_view text, std::size_t position);

void append_character(std::string& out, char32_t code);

// `text` with every broken piece replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// How many characters (code points) valid_utf8(text) has.
std::int64_t count_characters(std::string_view text);

// White space, line and paragraph separators, and control characters.
bool is_blank(char32_t code);

// Scripts written without spaces between words: Han, kana, bopomofo and their punctuation and
// full-width forms. Not Hangul: Korean separates words by spaces.
bool is_cjk(char32_t code);

// Never begins a line: combining marks, joiners, variation selectors, and closing CJK punctuation.
bool joins_previous(char32_t code);

std::string_view trimmed(std::string_view text);

// Every run of blanks becomes one `space`; blanks at both ends go. The result is valid UTF-8.
std::string one_line(std::string_view text, char space = ' ');

}  // namespace verbatim
