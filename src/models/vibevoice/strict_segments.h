// For tests: the two reference parsers, against which the tolerant one is held. Section 7.2 of the
// specification.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbatim::vibevoice {

// Values are kept as text.
struct StrictSegment {
  std::string start, end, speaker, text;  // JSON spelling of the values; empty: the key was missing
};

// microsoft/VibeVoice, post_process_transcription: empty on any failure.
std::vector<StrictSegment> parse_strict_ms(std::string_view text);

// transformers, VibeVoiceAsrProcessor parsed mode: false means it returns the stripped text
// instead.
bool parse_strict_hf(std::string_view text, std::vector<StrictSegment>& out, std::string& stripped);

}  // namespace verbatim::vibevoice
