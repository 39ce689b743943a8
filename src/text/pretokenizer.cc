// The seven alternatives of the split rule, each returning where its match ends, or `first` for
// none.
#include "text/pretokenizer.h"

#include "base/error.h"
#include "text/unicode.h"

namespace verbatim {
namespace {

using enum CharacterClass;

bool is_space(CharacterClass kind) {
  return kind == kSpace || kind == kNewline;
}

// The end of the run of characters of `kind` at `first`.
std::size_t run_end(std::u32string_view text, std::size_t first, CharacterClass kind) {
  while (first < text.size() && character_class(text[first]) == kind) ++first;
  return first;
}

// Without regard to case: U+017F, the long s, folds to s; no other character folds to these
// letters.
char32_t folded(char32_t code) {
  if (code >= U'A' && code <= U'Z') return code + (U'a' - U'A');
  return code == 0x017F ? U's' : code;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)
std::size_t contraction_end(std::u32string_view text, std::size_t first) {
  if (text[first] != U'\'' || first + 1 == text.size()) return first;
  const char32_t letter = folded(text[first + 1]);
  if (letter == U's' || letter == U't' || letter == U'm' || letter == U'd') return first + 2;
  if (first + 2 == text.size()) return first;
  const char32_t next = folded(text[first + 2]);
  const bool is_long = (letter == U'r' && next == U'e') || (letter == U'v' && next == U'e') ||
                       (letter == U'l' && next == U'l');
  return is_long ? first + 3 : first;
}

// [^\r\n\p{L}\p{N}]?\p{L}+
std::size_t word_end(std::u32string_view text, std::size_t first) {
  const CharacterClass kind = character_class(text[first]);
  const std::size_t letters = kind == kSpace || kind == kOther ? first + 1 : first;
  const std::size_t end = run_end(text, letters, kLetter);
  return end == letters ? first : end;
}

// ' ?[^\s\p{L}\p{N}]+[\r\n]*' without the quotes.
std::size_t symbols_end(std::u32string_view text, std::size_t first) {
  const std::size_t symbols = text[first] == U' ' ? first + 1 : first;
  const std::size_t end = run_end(text, symbols, kOther);
  return end == symbols ? first : run_end(text, end, kNewline);
}

// \s*[\r\n]+|\s+(?!\S)|\s+
std::size_t space_end(std::u32string_view text, std::size_t first) {
  std::size_t end = first;
  std::size_t after_newline = first;
  for (; end < text.size(); ++end) {
    const CharacterClass kind = character_class(text[end]);
    if (!is_space(kind)) break;
    if (kind == kNewline) after_newline = end + 1;
  }
  if (after_newline != first) return after_newline;
  // The last space before a word belongs to the word, unless it is the only one.
  const bool is_last_kept = end == text.size() || end - first == 1;
  return is_last_kept ? end : end - 1;
}

}  // namespace

const std::string_view kSplitRule =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::size_t piece_end(std::u32string_view text, std::size_t first) {
  check(first < text.size(), "there is a piece left");
  if (const std::size_t end = contraction_end(text, first); end != first) return end;
  if (const std::size_t end = word_end(text, first); end != first) return end;
  if (character_class(text[first]) == kNumber) return first + 1;
  if (const std::size_t end = symbols_end(text, first); end != first) return end;
  const std::size_t end = space_end(text, first);
  check(end != first, "every character belongs to a piece");
  return end;
}

}  // namespace verbatim
