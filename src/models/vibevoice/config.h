// The shapes of a VibeVoice-ASR checkpoint, from config.json and preprocessor_config.json in either
// published layout. Section 1 of the specification.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/transformer.h"

namespace verbatim {
class Checkpoint;
}

namespace verbatim::vibevoice {

// kOriginal: microsoft/VibeVoice. kTransformers: huggingface/transformers.
enum class Layout : std::uint8_t { kOriginal, kTransformers };

struct EncoderConfig {
  std::int32_t channels = 1;
  std::int32_t vae_dim = 0;
  std::int32_t n_filters = 0;
  std::vector<std::int32_t> ratios;  // in the order they are applied
  std::vector<std::int32_t> depths;  // one more than ratios
  std::int32_t kernel_size = 7;
  std::int32_t ffn_expansion = 4;
  float eps = 0;
  float fix_std = 0;  // width of the acoustic noise
  std::int32_t width(std::size_t stage) const { return n_filters << stage; }
  std::int32_t hop() const;  // samples of a frame
};

struct Config {
  Layout layout = Layout::kOriginal;
  EncoderConfig acoustic;
  EncoderConfig semantic;
  TransformerConfig decoder;
  double rope_theta = 0;
  std::int32_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  std::int32_t sample_rate_hz = 24000;
  bool normalize_audio = true;
  // Ids that a transformers config names; -1 where it does not.
  std::int32_t audio_token = -1;
};

// Does config.json say that this is a VibeVoice checkpoint?
bool recognise(const Checkpoint& checkpoint);

// Throws, naming file and field: an impossible number, a variant that this build does not run
// (streaming), an encoder with parts the reference does not have.
Config read_config(const Checkpoint& checkpoint);

}  // namespace verbatim::vibevoice
