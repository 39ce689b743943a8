// Which characters are blank, which join, and the text between them.
#include "transcript/characters.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/utf8.h"

namespace verbatim {

namespace {

struct Range {
  char32_t first, last;
};

bool in_ranges(char32_t code, const Range* ranges, std::size_t count) {
  return std::any_of(ranges, ranges + count,
                     [code](const Range& r) { return code >= r.first && code <= r.last; });
}

}  // namespace

std::int64_t count_characters(std::string_view text) {
  std::int64_t count = 0;
  for (; !text.empty(); text.remove_prefix(next_character(text).length)) ++count;
  return count;
}

bool is_blank(char32_t code) {
  return code <= 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F ||
         code == 0x205F || code == 0x3000 || code == 0xFEFF;
}

bool is_cjk(char32_t code) {
  static constexpr std::array<Range, 8> kRanges{{{0x2E80, 0x2FDF},
                                                 {0x2FF0, 0x312F},
                                                 {0x31A0, 0x4DBF},
                                                 {0x4E00, 0x9FFF},
                                                 {0xF900, 0xFAFF},
                                                 {0xFE30, 0xFE4F},
                                                 {0xFF01, 0xFF9F},
                                                 {0x1B000, 0x1B16F}}};
  return in_ranges(code, kRanges.data(), kRanges.size()) || (code >= 0x20000 && code <= 0x3FFFF);
}

bool joins_previous(char32_t code) {
  static constexpr std::array<Range, 19> kRanges{{{0x0300, 0x036F},
                                                  {0x0483, 0x0489},
                                                  {0x0591, 0x05BD},
                                                  {0x064B, 0x065F},
                                                  {0x0900, 0x0903},
                                                  {0x093A, 0x094F},
                                                  {0x0E31, 0x0E31},
                                                  {0x0E34, 0x0E3A},
                                                  {0x0E47, 0x0E4E},
                                                  {0x1AB0, 0x1AFF},
                                                  {0x1DC0, 0x1DFF},
                                                  {0x200D, 0x200D},
                                                  {0x20D0, 0x20FF},
                                                  {0x3099, 0x309C},
                                                  {0xFE00, 0xFE0F},
                                                  {0xFE20, 0xFE2F},
                                                  {0xFF9E, 0xFF9F},
                                                  {0x1F3FB, 0x1F3FF},
                                                  {0xE0100, 0xE01EF}}};
  static constexpr std::u32string_view kClosing =
      U"\u3001\u3002\u3005\u3009\u300B\u300D\u300F\u3011\u3015\u3017\u301F\u30FC\uFF01\uFF09\uFF0C"
      U"\uFF0E\uFF1A\uFF1B\uFF1F\uFF3D\uFF5D";
  return in_ranges(code, kRanges.data(), kRanges.size()) ||
         kClosing.find(code) != std::u32string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  std::size_t first = text.size();
  std::size_t last = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character c = next_character(text.substr(i));
    if (!is_blank(c.code)) {
      first = std::min(first, i);
      last = i + c.length;
    }
    i += c.length;
  }
  return first < last ? text.substr(first, last - first) : std::string_view();
}

std::string one_line(std::string_view text, char space) {
  std::string out;
  out.reserve(text.size());
  bool gap = false;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character c = next_character(text.substr(i));
    i += c.length;
    if (is_blank(c.code)) {
      gap = !out.empty();
      continue;
    }
    if (gap) out.push_back(space);
    gap = false;
    append_utf8(out, c.code);
  }
  return out;
}

}  // namespace verbatim
