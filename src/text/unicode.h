// Characters: canonical composition (NFC) and the classes of the split rule, as the reference's
// tokenizer library has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

// The code points of `bytes`, U+FFFD where they are no UTF-8.
std::u32string code_points(std::string_view bytes);

// Normal form C of valid UTF-8. Characters that the reference's normaliser does not know (its
// tables are of Unicode 9) stay as they are and keep their place.
std::string nfc(std::string_view text);

enum class CharacterClass : std::uint8_t {
  kLetter,   // \p{L}
  kNumber,   // \p{N}
  kNewline,  // \r and \n
  kSpace,    // the rest of \s: White_Space
  kOther,    // everything else, unassigned code points included
};

CharacterClass character_class(char32_t code);

// How the split rule of tekken.json tells letters and marks apart.
enum class LetterKind : std::uint8_t {
  kNone,   // neither letter nor mark
  kUpper,  // \p{Lu} and \p{Lt}
  kLower,  // \p{Ll}
  kBoth,   // \p{Lm}, \p{Lo} and \p{M}, which stand in a word's beginning and in its rest
};

LetterKind letter_kind(char32_t code);

// The version of Unicode whose tables these are: "15.0.0".
const char* unicode_version();

}  // namespace verbatim
