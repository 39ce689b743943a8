// Well-formed byte sequences by the table of the Unicode standard, section 3.9.
#include "base/utf8.h"

#include "base/error.h"

namespace verbatim {
namespace {

// The bytes that may follow a lead byte, and how many continuation bytes there are.
struct Lead {
  std::size_t following = 0;  // 0: no lead byte of a longer character
  std::uint8_t low = 0x80;    // range of the first continuation byte: excludes overlong forms,
  std::uint8_t high = 0xBF;   // surrogates and everything above U+10FFFF
};

Lead lead_of(std::uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {.following = 1};
  if (byte == 0xE0) return {.following = 2, .low = 0xA0};
  if (byte == 0xED) return {.following = 2, .high = 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {.following = 2};
  if (byte == 0xF0) return {.following = 3, .low = 0x90};
  if (byte >= 0xF1 && byte <= 0xF3) return {.following = 3};
  if (byte == 0xF4) return {.following = 3, .high = 0x8F};
  return {};
}

}  // namespace

Utf8Character next_character(std::string_view bytes) {
  check(!bytes.empty(), "there is a character to read");
  const auto byte = [bytes](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  if (byte(0) < 0x80) return {.code = byte(0), .length = 1, .status = Utf8Status::kWhole};
  Lead lead = lead_of(byte(0));
  if (lead.following == 0) return {.length = 1};
  char32_t code = byte(0) & (0x3Fu >> lead.following);
  for (std::size_t i = 1; i <= lead.following; ++i) {
    if (i == bytes.size()) return {.length = i, .status = Utf8Status::kIncomplete};
    if (byte(i) < lead.low || byte(i) > lead.high) return {.length = i};
    code = (code << 6) | (byte(i) & 0x3Fu);
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return {.code = code, .length = lead.following + 1, .status = Utf8Status::kWhole};
}

void append_utf8(std::string& out, char32_t code) {
  const auto tail = [code](int shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(tail(0));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code >> 12)));
    out.push_back(tail(6));
    out.push_back(tail(0));
  } else {
    out.push_back(static_cast<char>(0xF0 | (code >> 18)));
    out.push_back(tail(12));
    out.push_back(tail(6));
    out.push_back(tail(0));
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Character character = next_character(bytes);
    if (character.status == Utf8Status::kWhole) {
      out.append(bytes.substr(0, character.length));
    } else {
      append_utf8(out, kReplacementCharacter);
    }
    bytes.remove_prefix(character.length);
  }
  return out;
}

std::string shown_name(std::string_view name, std::size_t most_bytes) {
  std::string text = to_valid_utf8(name.substr(0, most_bytes));
  for (char& letter : text) {
    if (static_cast<std::uint8_t>(letter) < 0x20 || letter == 0x7F) letter = '?';
  }
  return name.size() > most_bytes ? text + "..." : text;
}

}  // namespace verbatim
