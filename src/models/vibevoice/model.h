// VibeVoice-ASR: two convolutional encoders, their connectors, and a Qwen2 decoder.
#pragma once

#include <memory>
#include <vector>

#include "models/model.h"
#include "models/text_decoder.h"
#include "models/vibevoice/config.h"
#include "models/vibevoice/conv_encoder.h"
#include "text/tokenizer.h"

namespace verbatim::vibevoice {

class VibeVoice final : public Model {
 public:
  VibeVoice(const Checkpoint& checkpoint, std::span<const Stage> stages,
            const LoadOptions& options);

  const ModelInfo& info() const override { return info_; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  SessionNeeds needs(const SessionOptions& options, double audio_s) const override;
  std::vector<std::unique_ptr<ConvState>> conv_states(Device& dev) const override;
  std::unique_ptr<Session> open(const SessionOptions& options, SlotResources& slot,
                                const Trace& trace) const override;
  void encode(Device& dev, EncodeBatch& batch, const Trace& trace) const override;
  void decode(std::span<const Stage> stages, DecodeBatch& batch, const Trace& trace) const override;
  std::int64_t encode_rows(double audio_s) const override;

  const Config& config() const { return config_; }

 private:
  void fill_info(const Checkpoint& checkpoint, const Binder& binder);

  Config config_;
  ModelInfo info_;
  std::unique_ptr<Tokenizer> tokenizer_;
  WeightStore store_;
  std::int64_t state_values_ = 0;  // of both encoders' left context
  std::unique_ptr<ConvEncoder> acoustic_;
  std::unique_ptr<ConvEncoder> semantic_;
  std::unique_ptr<Connector> acoustic_connector_;
  std::unique_ptr<Connector> semantic_connector_;
  TextDecoder decoder_;
};

}  // namespace verbatim::vibevoice
