// tekken.json, the vocabulary file of Mistral's models, with its block about audio.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/tokenizer.h"

namespace verbatim {

// The `audio` block of tekken.json: names as in the file.
struct TekkenAudio {
  std::int32_t sampling_rate = 0;
  double frame_rate = 0;
  std::int32_t num_mel_bins = 0, hop_length = 0, window_size = 0;  // audio_encoding_config
  double transcription_delay_ms = 0;                               // a whole number of frames
  double streaming_look_ahead_ms = 0, streaming_look_back_ms = 0;
  std::int32_t streaming_n_left_pad_tokens = 0;
};

struct Tekken {
  Tokenizer tokenizer;
  TekkenAudio audio;
};

// Reads the file's text; `source` (a path) is named in errors. vocab_size: rows of the model's
// embedding; entries beyond it are ignored, as the reference ignores them. Special tokens have
// their names for bytes. Throws kUnsupported for another split rule or kind of transcription,
// kCorrupt for a file that contradicts itself or is too short for the model.
Tekken read_tekken_json(std::string_view text, std::string_view source, std::int32_t vocab_size);

}  // namespace verbatim
