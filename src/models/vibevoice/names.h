// What the files call things: the original names and the two spellings of transformers. Section 1.7
// of the specification.
#pragma once

#include <string>

#include "models/vibevoice/config.h"

namespace verbatim::vibevoice {

enum class Which : std::uint8_t { kAcoustic, kSemantic };

class Names {
 public:
  // Looks at what the checkpoint holds; throws kNotFound naming the tensor that decides.
  explicit Names(const Checkpoint& checkpoint);

  std::string encoder(Which which) const;
  std::string down(std::size_t stage) const;  // below the encoder; stage 0 is the stem
  std::string block(std::size_t stage, int index) const;
  std::string mixer() const;                                   // below a block
  std::string head() const;                                    // below the encoder
  std::string connector(Which which, const char* part) const;  // "fc1", "norm", "fc2"
  const std::string& decoder() const { return decoder_; }      // where "layers.0" is a child
  const std::string& lm_head() const { return lm_head_; }      // empty: no such tensor
  std::string ignored() const;  // the waveform decoder, which transcription does not need

 private:
  bool original_ = true;
  std::string front_;  // "model." before the names of transformers' newer spelling
  std::string decoder_;
  std::string lm_head_;
};

}  // namespace verbatim::vibevoice
