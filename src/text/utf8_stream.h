// Joins the bytes of tokens, which may end inside a character, and gives out whole characters.
#pragma once

#include <string>
#include <string_view>

namespace verbatim {

// For any cut of the bytes, all that feed and finish return is to_valid_utf8 of the whole.
class Utf8Stream {
 public:
  // The characters that are whole by now; what can no longer become one is U+FFFD.
  std::string feed(std::string_view bytes);
  // U+FFFD when the bytes ended inside a character. Ready for the next text afterwards.
  std::string finish();
  // Did the bytes so far end inside a character?
  bool is_inside() const { return !pending_.empty(); }

 private:
  std::string pending_;  // a beginning of a character, at most three bytes
};

}  // namespace verbatim
