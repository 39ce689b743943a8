// Normal forms and categories from utf8proc (Unicode 15), with the differences to the reference's
// tables that unicode_deltas.h lists.
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "text/unicode_deltas.h"

namespace verbatim {
namespace {

template <std::size_t kCount>
bool is_in(const std::array<CodeRange, kCount>& ranges, char32_t code) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

std::uint8_t combining_class(utf8proc_int32_t code) {
  return static_cast<std::uint8_t>(utf8proc_get_property(code)->combining_class);
}

// Appends the canonical decomposition of `code`, not yet ordered.
void append_decomposed(std::vector<utf8proc_int32_t>& out, char32_t code) {
  std::array<utf8proc_int32_t, 32> parts{};
  int boundary = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(), parts.size(),
                              UTF8PROC_DECOMPOSE, &boundary);
  check(count >= 0 && count <= utf8proc_ssize_t{parts.size()}, "a decomposition is short");
  out.insert(out.end(), parts.begin(), parts.begin() + count);
}

// Sorts each run of combining marks by class. Stable and n log n: a run may be as long as the text.
void order_marks(std::vector<utf8proc_int32_t>& codes) {
  const auto is_mark = [](utf8proc_int32_t code) { return combining_class(code) != 0; };
  auto run = std::find_if(codes.begin(), codes.end(), is_mark);
  while (run != codes.end()) {
    const auto end = std::find_if_not(run, codes.end(), is_mark);
    std::stable_sort(run, end, [](utf8proc_int32_t left, utf8proc_int32_t right) {
      return combining_class(left) < combining_class(right);
    });
    run = std::find_if(end, codes.end(), is_mark);
  }
}

// Composes what `codes` holds, appends it to `out` and empties `codes`.
void append_composed(std::string& out, std::vector<utf8proc_int32_t>& codes) {
  if (codes.empty()) return;
  order_marks(codes);
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), options);
  check(count >= 0, "decomposed text composes");
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(out, static_cast<char32_t>(codes[static_cast<std::size_t>(i)]));
  codes.clear();
}

bool is_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace

std::u32string code_points(std::string_view bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Character character = next_character(bytes);
    out.push_back(character.code);
    bytes.remove_prefix(character.length);
  }
  return out;
}

std::string nfc(std::string_view text) {
  // Below U+0300 (lead byte 0xCC) every character is composed and none combines.
  const auto may_change = [](char byte) { return static_cast<std::uint8_t>(byte) >= 0xCC; };
  if (std::none_of(text.begin(), text.end(), may_change)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  std::vector<utf8proc_int32_t> codes;
  while (!text.empty()) {
    const Utf8Character character = next_character(text);
    text.remove_prefix(character.length);
    if (is_in(kUnknownToNormaliser, character.code)) {
      // Unknown is a starter that composes with nothing: what stands on either side is on its own.
      append_composed(out, codes);
      append_utf8(out, character.code);
    } else {
      append_decomposed(codes, character.code);
    }
  }
  append_composed(out, codes);
  return out;
}

CharacterClass character_class(char32_t code) {
  if (code == U'\n' || code == U'\r') return CharacterClass::kNewline;
  if (is_white_space(code)) return CharacterClass::kSpace;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterClass::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterClass::kNumber;
    case UTF8PROC_CATEGORY_CN:
      if (is_in(kLaterLetters, code)) return CharacterClass::kLetter;
      if (is_in(kLaterNumbers, code)) return CharacterClass::kNumber;
      return CharacterClass::kOther;
    default:
      return CharacterClass::kOther;
  }
}

LetterKind letter_kind(char32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return LetterKind::kUpper;
    case UTF8PROC_CATEGORY_LL:
      return LetterKind::kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return LetterKind::kBoth;
    case UTF8PROC_CATEGORY_CN:
      if (is_in(kLaterUpper, code)) return LetterKind::kUpper;
      if (is_in(kLaterLower, code)) return LetterKind::kLower;
      if (is_in(kLaterLetters, code) || is_in(kLaterMarks, code)) return LetterKind::kBoth;
      return LetterKind::kNone;
    default:
      return LetterKind::kNone;
  }
}

const char* unicode_version() {
  return utf8proc_unicode_version();
}

}  // namespace verbatim
