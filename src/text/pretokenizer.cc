// The seven alternatives of each split rule, each returning where its match ends, or `first` for
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

// ' ?[^\s\p{L}\p{N}]+' without the quotes.
std::size_t symbols_end(std::u32string_view text, std::size_t first) {
  const std::size_t symbols = text[first] == U' ' ? first + 1 : first;
  const std::size_t end = run_end(text, symbols, kOther);
  return end == symbols ? first : end;
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

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
bool is_head(LetterKind kind) {
  return kind == LetterKind::kUpper || kind == LetterKind::kBoth;
}

// [\p{Ll}\p{Lm}\p{Lo}\p{M}]
bool is_tail(LetterKind kind) {
  return kind == LetterKind::kLower || kind == LetterKind::kBoth;
}

std::size_t head_end(std::u32string_view text, std::size_t first) {
  while (first < text.size() && is_head(letter_kind(text[first]))) ++first;
  return first;
}

std::size_t tail_end(std::u32string_view text, std::size_t first) {
  while (first < text.size() && is_tail(letter_kind(text[first]))) ++first;
  return first;
}

// Head*Tail+. Where nothing but a tail can follow the heads, the heads give characters back until
// one is a tail too; what lies behind that one are heads alone, so the match ends there.
std::size_t tailed_end(std::u32string_view text, std::size_t first) {
  const std::size_t heads = head_end(text, first);
  const std::size_t end = tail_end(text, heads);
  if (end != heads) return end;
  std::size_t last = heads;
  while (last > first && !is_tail(letter_kind(text[last - 1]))) --last;
  return last;
}

// Head+Tail*
std::size_t headed_end(std::u32string_view text, std::size_t first) {
  const std::size_t heads = head_end(text, first);
  return heads == first ? first : tail_end(text, heads);
}

// The first two alternatives of tekken.json's rule. A mark is no letter, so it may be what stands
// before a word as well as its beginning; as the former it is tried first.
std::size_t tekken_word_end(std::u32string_view text, std::size_t first) {
  const CharacterClass kind = character_class(text[first]);
  const bool may_precede = kind == kSpace || kind == kOther;
  const std::size_t second = first + 1;
  for (const auto end_of : {tailed_end, headed_end}) {
    if (may_precede) {
      if (const std::size_t end = end_of(text, second); end != second) return end;
    }
    if (const std::size_t end = end_of(text, first); end != first) return end;
  }
  return first;
}

std::size_t tekken_piece_end(std::u32string_view text, std::size_t first) {
  if (const std::size_t end = tekken_word_end(text, first); end != first) return end;
  if (character_class(text[first]) == kNumber) return first + 1;
  if (std::size_t end = symbols_end(text, first); end != first) {
    while (end < text.size() && (character_class(text[end]) == kNewline || text[end] == U'/'))
      ++end;
    return end;
  }
  return space_end(text, first);
}

std::size_t qwen_piece_end(std::u32string_view text, std::size_t first) {
  if (const std::size_t end = contraction_end(text, first); end != first) return end;
  if (const std::size_t end = word_end(text, first); end != first) return end;
  if (character_class(text[first]) == kNumber) return first + 1;
  if (const std::size_t end = symbols_end(text, first); end != first)
    return run_end(text, end, kNewline);
  return space_end(text, first);
}

}  // namespace

const std::string_view kSplitRule =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

const std::string_view kTekkenSplitRule =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::size_t piece_end(std::u32string_view text, std::size_t first, SplitRule rule) {
  check(first < text.size(), "there is a piece left");
  const std::size_t end =
      rule == SplitRule::kTekken ? tekken_piece_end(text, first) : qwen_piece_end(text, first);
  check(end != first, "every character belongs to a piece");
  return end;
}

}  // namespace verbatim
