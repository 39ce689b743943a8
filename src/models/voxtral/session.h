// One transcription, live or of a file alike: samples become rows of the encoder, its frames become
// one audio row per token, and every audio row from the first decision on gives one token.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/loop_detector.h"
#include "models/model.h"
#include "models/voxtral/config.h"
#include "models/voxtral/emission.h"
#include "models/voxtral/front.h"
#include "models/voxtral/rut_guard.h"
#include "models/voxtral/schedule.h"
#include "nn/sampler.h"

namespace verbatim::voxtral {

class VoxtralSession final : public Session {
 public:
  // condition: the row of the decoder's gains that belongs to the schedule's delay.
  VoxtralSession(const Config& config, const Schedule& schedule, std::int32_t condition,
                 const Tokenizer& tokenizer, const SessionOptions& options, SlotResources& slot,
                 const Trace& trace);

  void push(std::span<const float> pcm) override { front_.push(pcm); }
  void finish() override { front_.finish(); }
  void stop() override;
  bool done() const override { return is_done_; }
  std::size_t room() const override { return front_.room(); }
  void plan(EncodeBatch& batch) override;
  void take(const EncodeBatch& batch) override;
  void plan(DecodeBatch& batch) override;
  void take(const DecodeBatch& batch) override;

 private:
  // The decoder's context began at audio row base_ (its silence aside), so that its position p
  // hears row base_ + p; both grow together.
  std::int64_t next_row() const { return base_ + position_; }
  std::int64_t waiting_rows() const { return audio_first_ + audio_count_ - next_row(); }
  Tensor audio_row(std::int64_t row) const;
  std::int64_t audio_width() const { return config_.decoder.hidden_size; }
  void forget_audio();
  void decided(std::int32_t token);
  void guard(std::int64_t slot, bool is_text);
  void report(std::int64_t slot);
  void warn(const char* code, const std::string& message, double start_s, double end_s);
  double audio_s() const;
  double clipped_s(std::int64_t tokens) const;  // so many tokens of the clip, in seconds
  void end();

  const Config& config_;
  Schedule schedule_;
  std::int32_t condition_ = 0;
  SessionOptions options_;
  SlotResources& slot_;
  Trace trace_;
  Front front_;
  Emission emission_;
  RutGuard guard_;
  LoopDetector loop_;
  bool is_looping_ = false;
  std::unique_ptr<Sampler> sampler_;

  std::int64_t encoded_tokens_ = 0;
  std::int64_t planned_tokens_ = 0;
  int encode_ticket_ = -1;

  std::vector<float> silence_;  // audio rows of the padding before the clip, for a restart
  std::vector<float> audio_;    // audio rows from audio_first_ on
  std::int64_t audio_first_ = 0;
  std::int64_t audio_count_ = 0;
  std::int64_t kept_rows_ = 0;  // that stay behind the decoder, for a restart

  std::int64_t base_ = 0;
  std::int64_t position_ = 0;  // of the decoder's context
  std::int32_t next_token_ = -1;
  std::vector<RowInput> rows_;
  int decode_ticket_ = -1;
  bool is_deciding_ = false;  // the planned rows end in a decision
  std::int64_t decisions_ = 0;
  bool is_done_ = false;
  std::vector<Event> events_;  // of the decision under way
  std::vector<Warning> warnings_;
};

}  // namespace verbatim::voxtral
