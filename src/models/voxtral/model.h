// Voxtral Realtime: a causal log-mel transformer encoder, an adapter that joins its frames into one
// row per token, and a decoder that is told how far it lags behind the audio.
#pragma once

#include <memory>
#include <vector>

#include "models/model.h"
#include "models/text_decoder.h"
#include "models/voxtral/config.h"
#include "models/voxtral/names.h"
#include "models/voxtral/schedule.h"
#include "text/vocabulary_tekken.h"

namespace verbatim::voxtral {

class Voxtral final : public Model {
 public:
  Voxtral(const Checkpoint& checkpoint, std::span<const Stage> stages, const LoadOptions& options);

  const ModelInfo& info() const override { return info_; }
  const Tokenizer& tokenizer() const override { return tekken_->tokenizer; }
  SessionNeeds needs(const SessionOptions& options, double audio_s) const override;
  std::vector<std::unique_ptr<ConvState>> conv_states(Device& dev) const override;
  std::unique_ptr<Session> open(const SessionOptions& options, SlotResources& slot,
                                const Trace& trace) const override;
  void encode(Device& dev, EncodeBatch& batch, const Trace& trace) const override;
  void decode(std::span<const Stage> stages, DecodeBatch& batch, const Trace& trace) const override;
  std::int64_t encode_rows(double audio_s) const override;
  std::int32_t encode_cols() const override { return config_.mel.num_mel_bins; }
  std::int64_t encoder_positions(std::int64_t rows) const override;

  const Config& config() const { return config_; }

 private:
  void load_encoder(const Names& names, const Binder& binder);
  void load_decoder(const Names& names, const Binder& binder, const Quantization& quant);
  void fill_info(const Checkpoint& checkpoint, const Binder& binder);
  std::int32_t delay_tokens(const SessionOptions& options) const;

  Config config_;
  ModelInfo info_;
  std::unique_ptr<Tekken> tekken_;
  Schedule schedule_;  // of the default delay
  WeightStore store_;
  std::int64_t state_values_ = 0;  // of the stem's left context
  Conv1d conv1_, conv2_;
  std::unique_ptr<Transformer> encoder_;
  Tensor encoder_norm_;
  Linear linear1_, linear2_;
  TextDecoder decoder_;
  std::vector<std::vector<float>> scales_;  // by decoder layer, [conditions, hidden]
};

}  // namespace verbatim::voxtral
