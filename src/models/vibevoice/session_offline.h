// One transcription of a whole clip. The clip is spooled until it ends, for its loudness and length
// are part of the prompt; then it is encoded only as far ahead as the prompt has room, the prompt
// is prefilled in pieces, and tokens are decoded one a tick.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "audio/loudness.h"
#include "audio/vad.h"
#include "base/file.h"
#include "models/model.h"
#include "models/vibevoice/config.h"
#include "models/vibevoice/prompt.h"
#include "models/vibevoice/segment_parser.h"
#include "models/vibevoice/transcriber.h"
#include "nn/sampler.h"

namespace verbatim::vibevoice {

class OfflineSession final : public Session {
 public:
  OfflineSession(const Config& config, const Tokenizer& tokenizer, const SessionOptions& options,
                 SlotResources& slot, const Trace& trace);

  void push(std::span<const float> pcm) override;
  void finish()
      override;  // throws kInvalidArgument when no sample came, kExhausted when it does not fit
  void stop() override;
  bool done() const override { return phase_ == Phase::kDone; }
  void plan(EncodeBatch& batch) override;
  void take(const EncodeBatch& batch) override;
  void plan(DecodeBatch& batch) override;
  void take(const DecodeBatch& batch) override;

 private:
  enum class Phase : std::uint8_t { kCollect, kPrompt, kDecode, kDone };
  std::int64_t frames() const;
  // Rows of the prompt that are known: tokens, and speech as far as it is encoded.
  std::int64_t known_rows() const;
  RowInput prompt_row(std::int64_t row) const;
  void make_noise(std::int64_t frames);
  void decided(std::int32_t token);
  void end(const char* code, const std::string& message);
  void report_encoded();

  const Config& config_;
  const Tokenizer& tokenizer_;
  SessionOptions options_;
  SlotResources& slot_;
  Trace trace_;
  bool pads_waveform_ = false;  // the tail rule of transformers

  Phase phase_ = Phase::kCollect;
  SpooledFile pcm_;
  Loudness loudness_;
  Vad speech_;
  Gain gain_;
  std::int64_t samples_ = 0;
  Prompt prompt_;

  std::int64_t encoded_samples_ = 0;  // handed to the encoder, padding included
  std::int64_t encoded_frames_ = 0;
  std::vector<float> block_;  // samples of the running encode pass
  std::vector<float> noise_;  // of its frames
  RandomBits random_;
  float noise_width_ = 0;
  int encode_ticket_ = -1;

  std::vector<float> speech_rows_;  // encoded and not yet prefilled
  std::int64_t speech_first_ = 0;   // the frame that speech_rows_ begins with
  std::int64_t prefilled_ = 0;      // rows of the prompt in the cache
  std::vector<RowInput> rows_;
  int decode_ticket_ = -1;
  std::int64_t planned_rows_ = 0;
  std::int32_t end_token_ = -1;  // the only one that ends a transcription
  std::int32_t next_token_ = -1;
  std::int64_t output_limit_ = 0;
  std::unique_ptr<Sampler> sampler_;
  Transcriber transcriber_;
};

}  // namespace verbatim::vibevoice
