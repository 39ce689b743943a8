// Escapes and small tests on characters.
#include "models/vibevoice/json_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/utf8.h"

namespace verbatim::vibevoice {

namespace {

// Four hexadecimal digits; -1 when they are not.
std::int32_t hex_at(std::string_view raw, std::size_t at) {
  if (at + 4 > raw.size()) return -1;
  std::uint32_t value = 0;
  const auto read = std::from_chars(raw.data() + at, raw.data() + at + 4, value, 16);
  return read.ptr == raw.data() + at + 4 ? static_cast<std::int32_t>(value) : -1;
}

// A \uXXXX escape at `at`, with the second half of its pair; returns where the rest begins.
std::size_t append_unicode(std::string& out, std::string_view raw, std::size_t at) {
  const std::int32_t first = hex_at(raw, at + 2);
  if (first < 0) {
    const std::string_view rest = raw.substr(at + 2);
    const bool is_cut =
        rest.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos &&
        rest.size() < 4;
    if (is_cut) return raw.size();
    out += "\\u";
    return at + 2;
  }
  auto code = static_cast<char32_t>(first);
  at += 6;
  if (code >= 0xD800 && code < 0xDC00 && raw.substr(at, 2) == "\\u") {
    const std::int32_t second = hex_at(raw, at + 2);
    if (second >= 0xDC00 && second < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + static_cast<char32_t>(second - 0xDC00);
      at += 6;
    }
  }
  append_utf8(out, code >= 0xD800 && code < 0xE000 ? kReplacementCharacter : code);
  return at;
}

}  // namespace

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view trimmed_ascii(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool has_word(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return is_word_character(c) && c != '_'; });
}

std::string unescaped(std::string_view raw) {
  constexpr std::string_view kLetters = "ntrbf\"\\/";
  constexpr std::string_view kMeanings = "\n\t\r\b\f\"\\/";
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      out.push_back(raw[i++]);
    } else if (i + 1 == raw.size()) {
      break;
    } else if (raw[i + 1] == 'u') {
      i = append_unicode(out, raw, i);
    } else {
      const std::size_t letter = kLetters.find(raw[i + 1]);
      if (letter == std::string_view::npos) out.push_back('\\');
      out.push_back(letter == std::string_view::npos ? raw[i + 1] : kMeanings[letter]);
      i += 2;
    }
  }
  return out;
}

}  // namespace verbatim::vibevoice
