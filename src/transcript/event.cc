// Joining of segment texts.
#include "transcript/event.h"

#include "base/utf8.h"
#include "transcript/characters.h"

namespace verbatim {

namespace {

char32_t last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
  return next_character(text.substr(begin)).code;
}

}  // namespace

std::string join_texts(const std::vector<Segment>& segments) {
  std::string joined;
  for (const Segment& segment : segments) {
    const std::string text = to_valid_utf8(trimmed(segment.text));
    if (text.empty()) continue;
    if (!joined.empty() && !(is_cjk(last_character(joined)) && is_cjk(next_character(text).code)))
      joined.push_back(' ');
    joined += text;
  }
  return joined;
}

}  // namespace verbatim
