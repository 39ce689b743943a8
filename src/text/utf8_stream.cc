// A stream keeps the unfinished character and nothing else.
#include "text/utf8_stream.h"

#include <utility>

#include "base/utf8.h"

namespace verbatim {

std::string Utf8Stream::feed(std::string_view bytes) {
  const std::string joined = std::exchange(pending_, {}).append(bytes);
  std::string_view rest = joined;
  std::string out;
  out.reserve(joined.size());
  while (!rest.empty()) {
    const Utf8Character character = next_character(rest);
    if (character.status == Utf8Status::kIncomplete) {
      pending_ = rest;
      break;
    }
    append_utf8(out, character.code);
    rest.remove_prefix(character.length);
  }
  return out;
}

std::string Utf8Stream::finish() {
  return to_valid_utf8(std::exchange(pending_, {}));
}

}  // namespace verbatim
