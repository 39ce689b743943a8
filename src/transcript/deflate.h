// The size of a text after DEFLATE: a cheap sign of repetition that clients know from Whisper.
#pragma once

#include <string_view>

namespace verbatim {

// Bytes of the text over bytes of its raw DEFLATE stream at level 6, with two decimals; 1 for an
// empty text.
double compression_ratio(std::string_view text);

}  // namespace verbatim
