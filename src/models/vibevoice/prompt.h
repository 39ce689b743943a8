// The prompt of a transcription: system turn, speech slots, the question. Section 6.1 of the
// specification. Reference: vibevoice/processor/vibevoice_asr_processor.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/vibevoice/config.h"

namespace verbatim {
class Tokenizer;
struct SessionOptions;
}  // namespace verbatim

namespace verbatim::vibevoice {

struct Prompt {
  std::vector<std::int32_t> before;  // up to and with the token that begins the speech
  std::vector<std::int32_t> after;   // from the token that ends it
};

// What is said about the recording: the context, a line break, the hotwords joined by ", ". The
// original layout trims it, the other does not.
std::string context_text(const SessionOptions& options, Layout layout);

// "5.86": the duration as the prompt spells it.
std::string duration_text(std::int64_t samples, std::int32_t sample_rate_hz);

// Spellings of special tokens inside the context are ordinary text. Throws kNotFound when the
// tokenizer lacks one of the special tokens.
Prompt make_prompt(const Tokenizer& tokenizer, std::string_view context, std::string_view duration);

}  // namespace verbatim::vibevoice
