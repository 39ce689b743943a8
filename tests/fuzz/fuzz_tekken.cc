// Reads arbitrary bytes as tekken.json of a model with few rows: a refusal is an Error, and what
// loads must encode any text so that it decodes to itself and has an audio block that makes sense.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/vocabulary_tekken.h"

using namespace verbatim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The corpus has a few special tokens, the bytes and a few ranks more.
  constexpr std::int32_t kRows = 272;
  // The invalid byte is U+FFFD in the outcome.
  constexpr std::string_view kText =
      "It's 12 \xC3\xA9\xF0\x9F\x91\x8D  \n\n/ <s>\xFF theTHE\xCC\x81";
  constexpr std::string_view kDecoded =
      "It's 12 \xC3\xA9\xF0\x9F\x91\x8D  \n\n/ <s>\xEF\xBF\xBD theTHE\xCC\x81";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Tekken tekken = read_tekken_json(text, "fuzzed", kRows);
    const Tokenizer& tokenizer = tekken.tokenizer;
    check(tokenizer.size() == kRows, "every row has a string");
    for (const bool parse_special : {false, true}) {
      const std::string decoded = tokenizer.decode(tokenizer.encode(kText, parse_special), true);
      check(decoded == kDecoded, "what is encoded decodes to itself, special names included");
    }
    tokenizer.encode(text.substr(0, 1000), false);
    check(tokenizer.bytes(kRows).empty(), "behind the last token there is no string");
    check(tekken.audio.frame_rate > 0 && tekken.audio.hop_length > 0, "frames have a length");
    check(tekken.audio.transcription_delay_ms > 0, "there is a delay");
  } catch (const Error&) {
    // A refusal by name is what bad files deserve.
  }
  return 0;
}
