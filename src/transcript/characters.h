// Characters of UTF-8 text as the writers count, join and break them. Bytes that are no UTF-8 count
// as U+FFFD, as next_character() in base/utf8.h reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

// How many characters (code points) to_valid_utf8(text) has.
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
