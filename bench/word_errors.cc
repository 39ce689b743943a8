// An edit distance with the way back.
#include "bench/word_errors.h"

#include <algorithm>

#include "base/utf8.h"
#include "transcript/characters.h"

namespace verbatim {
namespace {

enum class Step : std::uint8_t { kPair, kMissing, kAdded };

// Punctuation beyond ASCII, in blocks: of Latin-1, general, of Han and of full width.
bool is_mark(char32_t code) {
  return (code >= 0x80 && code < 0xC0) || (code >= 0x2000 && code < 0x2070) ||
         (code >= 0x3000 && code < 0x3040) || (code >= 0xFF00 && code < 0xFF10) ||
         (code >= 0xFF1A && code < 0xFF21);
}

bool is_of_word(char32_t code) {
  if (code >= 0x80) return !is_blank(code) && !is_mark(code);
  return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
         (code >= 'A' && code <= 'Z') || code == '\'';
}

}  // namespace

std::vector<std::string> spoken_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  while (!text.empty()) {
    const Utf8Character character = next_character(text);
    text.remove_prefix(character.length);
    const char32_t code = character.code;
    const bool stands_alone = is_cjk(code);
    if (!is_of_word(code) || stands_alone) end_word();
    if (!is_of_word(code)) continue;
    append_utf8(word, code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code);
    if (stands_alone) end_word();
  }
  end_word();
  return words;
}

std::int64_t WordErrors::lost() const {
  return std::count_if(errors.begin(), errors.end(),
                       [](const WordError& error) { return !error.expected.empty(); });
}

void WordErrors::append(const WordErrors& more) {
  expected += more.expected;
  errors.insert(errors.end(), more.errors.begin(), more.errors.end());
}

// Two rows of distances, and one byte a cell of how it was reached: an hour of speech fits.
WordErrors word_errors(std::span<const std::string> expected, std::span<const std::string> found) {
  const std::size_t rows = expected.size() + 1, cols = found.size() + 1;
  std::vector<Step> steps(rows * cols, Step::kPair);
  std::vector<std::int32_t> above(cols), here(cols);
  for (std::size_t f = 1; f < cols; ++f) {
    above[f] = static_cast<std::int32_t>(f);
    steps[f] = Step::kAdded;
  }
  for (std::size_t e = 1; e < rows; ++e) {
    here[0] = static_cast<std::int32_t>(e);
    steps[e * cols] = Step::kMissing;
    for (std::size_t f = 1; f < cols; ++f) {
      here[f] = above[f - 1] + (expected[e - 1] == found[f - 1] ? 0 : 1);
      Step& step = steps[e * cols + f];
      if (above[f] + 1 < here[f]) {
        here[f] = above[f] + 1;
        step = Step::kMissing;
      }
      if (here[f - 1] + 1 < here[f]) {
        here[f] = here[f - 1] + 1;
        step = Step::kAdded;
      }
    }
    std::swap(above, here);
  }
  WordErrors made;
  made.expected = static_cast<std::int64_t>(expected.size());
  for (std::size_t e = rows - 1, f = cols - 1; e > 0 || f > 0;) {
    const Step step = steps[e * cols + f];
    const std::string was = step == Step::kAdded ? "" : expected[--e];
    const std::string is = step == Step::kMissing ? "" : found[--f];
    if (was != is) made.errors.push_back({was, is});
  }
  std::reverse(made.errors.begin(), made.errors.end());
  return made;
}

}  // namespace verbatim
