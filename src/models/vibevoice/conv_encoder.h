// A Conv-VAE encoder: mono samples to one latent row per frame. Section 3 of the specification.
// Reference: vibevoice/modular/modular_vibevoice_tokenizer.py, TokenizerEncoder.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "device/trace.h"
#include "models/vibevoice/config.h"
#include "models/vibevoice/names.h"
#include "nn/binder.h"

namespace verbatim::vibevoice {

class ConvEncoder {
 public:
  // scope is how traces name it: "a", "s". state grows by the values of left context it keeps.
  ConvEncoder(const char* scope, const EncoderConfig& config, const Names& names, Which which,
              const Binder& from, std::int64_t& state);
  // x: [samples, 1] of the packed batch; returns the means, [frames, vae_dim].
  Tensor forward(Device& dev, const Tensor& x, const Spans& spans, const Trace& trace) const;

 private:
  struct Block {
    Tensor norm;      // [1, C]
    Conv1d mixer;     // depthwise
    Tensor gamma;     // [1, C]
    Tensor ffn_norm;  // [1, C]
    Linear linear1;   // [4C, C]
    Linear linear2;   // [C, 4C]
    Tensor ffn_gamma;
  };
  struct StageWeights {
    Conv1d down;  // the stem at stage 0
    std::vector<Block> blocks;
  };
  void block(Device& dev, const Block& w, const Tensor& x, const Spans& spans,
             const Trace& at) const;

  const char* scope_;
  float eps_;
  std::vector<StageWeights> stages_;
  Conv1d head_;
};

// fc2(RMSNorm(fc1(u))), without an activation. Reference: modeling_vibevoice.py, SpeechConnector.
class Connector {
 public:
  Connector(const char* scope, const Names& names, Which which, std::int32_t vae_dim,
            std::int32_t hidden, const Binder& from);
  // u: [frames, vae_dim]; other: empty, or [frames, hidden] to which the result is added.
  Tensor forward(Device& dev, const Tensor& u, const Tensor& other, const Trace& trace) const;

 private:
  const char* scope_;
  Linear fc1_;
  Tensor norm_;
  Linear fc2_;
};

}  // namespace verbatim::vibevoice
