// Pieces of JSON text that need not be JSON: strings with their escapes, spaces, words.
#pragma once

#include <string>
#include <string_view>

namespace verbatim::vibevoice {

// Escapes undone; lone surrogates become U+FFFD, unknown escapes stay as they are, and one that is
// cut off at the end goes.
std::string unescaped(std::string_view raw);

// A letter, a digit or '_'; every byte beyond ASCII counts as one.
bool is_word_character(char c);

// Has a letter or a digit.
bool has_word(std::string_view text);

bool is_space(char c);
std::string_view trimmed_ascii(std::string_view text);

}  // namespace verbatim::vibevoice
