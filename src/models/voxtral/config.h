// The shapes of a Voxtral Realtime checkpoint, from params.json or config.json. Sections 1.2 to 1.4
// of the specification.
#pragma once

#include <cstdint>

#include "audio/log_mel.h"
#include "nn/transformer.h"

namespace verbatim {
class Checkpoint;
}

namespace verbatim::voxtral {

// kMistral: params.json, pairs of neighbours rotate. kTransformers: config.json, split halves do.
enum class Layout : std::uint8_t { kMistral, kTransformers };

struct Config {
  Layout layout = Layout::kMistral;
  LogMelConfig mel;
  TransformerConfig encoder;
  double encoder_rope_theta = 0;
  std::int32_t downsample_factor = 4;  // encoder frames of a token
  TransformerConfig decoder;
  double rope_theta = 0;
  std::int32_t vocab_size = 0;
  std::int64_t model_max_length = 0;
  bool tied_embeddings = true;
  std::int32_t ada_rms_norm_t_cond_dim = 32;
  std::int32_t default_num_delay_tokens = 6;

  // The stem halves the frames of the log-mel.
  static constexpr std::int32_t kStemStride = 2;
  std::int32_t token_mel_frames() const { return kStemStride * downsample_factor; }
  std::int32_t token_samples() const { return mel.hop_length * token_mel_frames(); }
  double token_s() const { return static_cast<double>(token_samples()) / mel.sampling_rate; }
};

// Does params.json or config.json say that this is Voxtral Realtime?
bool recognise(const Checkpoint& checkpoint);

// Throws, naming file and field: an impossible number, a part that this model does not have.
Config read_config(const Checkpoint& checkpoint);

}  // namespace verbatim::voxtral
