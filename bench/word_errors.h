// Words of a transcript and the least that must change to make one run of words into another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

// Letters, digits and apostrophes, ASCII letters as small ones; of scripts without spaces every
// character is a word.
std::vector<std::string> spoken_words(std::string_view text);

struct WordError {
  std::string expected;  // empty: a word too many
  std::string found;     // empty: a word that is missing
};

struct WordErrors {
  std::int64_t expected = 0;      // words
  std::vector<WordError> errors;  // in the order of the text, as few as possible
  // Of the expected words, those that are missing or were heard as another.
  std::int64_t lost() const;
  std::int64_t added() const { return static_cast<std::int64_t>(errors.size()) - lost(); }
  void append(const WordErrors& more);
};

WordErrors word_errors(std::span<const std::string> expected, std::span<const std::string> found);

}  // namespace verbatim
