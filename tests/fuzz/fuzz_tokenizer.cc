// Reads arbitrary bytes as tokenizer.json: a refusal is an Error, and what loads must encode any
// text so that it decodes to itself.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/vocabulary_json.h"

using namespace verbatim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Nothing in it changes under normal form C; the invalid byte is U+FFFD in the outcome.
  constexpr std::string_view kText = "It's 12 \xC3\xA9\xF0\x9F\x91\x8D  \n\n <|im_end|>\xFF th";
  constexpr std::string_view kDecoded =
      "It's 12 \xC3\xA9\xF0\x9F\x91\x8D  \n\n <|im_end|>\xEF\xBF\xBD th";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Tokenizer tokenizer = read_tokenizer_json(text, "fuzzed");
    for (const bool parse_special : {false, true}) {
      const std::string decoded = tokenizer.decode(tokenizer.encode(kText, parse_special), false);
      check(decoded == kDecoded, "what is encoded decodes to itself");
    }
    tokenizer.encode(text.substr(0, 1000), true);
    check(tokenizer.bytes(tokenizer.size()).empty(), "behind the last token there is no string");
  } catch (const Error&) {
    // A refusal by name is what bad files deserve.
  }
  return 0;
}
