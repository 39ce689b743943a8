// Added tokens: strings that are one token wherever they stand, before anything is split or merged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

struct AddedToken {
  std::string text;  // UTF-8, not empty
  std::int32_t token = 0;
  bool is_special = false;     // control, not text: skipped when decoding
  bool is_normalized = false;  // looked for in the normal form instead of the text as given
};

class AddedTokens {
 public:
  struct Part {
    std::string_view text;
    std::int32_t token = -1;  // -1: plain text
  };

  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // `text` cut at its added tokens, leftmost first and the longest of those that begin there. Where
  // parse_special is false a special one stays in the plain text, whole: nothing is found inside.
  std::vector<Part> split(std::string_view text, bool parse_special) const;

 private:
  // The longest that begins at `first`; null for none.
  const AddedToken* longest_at(std::string_view text, std::size_t first) const;

  std::vector<AddedToken> tokens_;  // longest first
  std::array<bool, 256> begins_{};  // by byte: some token begins with it
};

}  // namespace verbatim
