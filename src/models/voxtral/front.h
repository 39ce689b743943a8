// From samples to log-mel rows in whole tokens, with the padding around the clip, and which tokens
// are speech. What comes out does not depend on how the samples were cut.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "audio/log_mel.h"
#include "audio/vad.h"
#include "device/trace.h"
#include "models/voxtral/config.h"
#include "models/voxtral/schedule.h"

namespace verbatim::voxtral {

class Front {
 public:
  Front(const Config& config, const Schedule& schedule);

  void push(std::span<const float> pcm);  // stores
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }
  std::size_t room() const;  // samples that may wait here besides those that do
  std::int64_t samples() const { return samples_; }

  // Turns what is stored into rows; shows "padded" and "mel".
  void advance(const Trace& trace);
  // Whole tokens of rows that wait, and the first `tokens` of them, [frames, num_mel_bins], which
  // then wait no more once drop() says so.
  std::int64_t tokens() const;
  std::span<const float> rows(std::int64_t tokens) const;
  void drop(std::int64_t tokens);

  // Was the clip's token speech? Tokens before the last one asked for are forgotten.
  bool is_speech(std::int64_t token);

 private:
  void take(std::span<const float> samples, const Trace& trace);
  void listen(std::span<const float> samples);
  void pad(std::int64_t samples, const Trace& trace);

  const Config& config_;
  Schedule schedule_;
  LogMel mel_;
  Vad vad_;
  std::vector<float> pcm_;   // stored and not yet turned
  std::vector<float> rows_;  // turned and not yet dropped
  std::int64_t samples_ = 0;
  std::int64_t padded_ = 0;  // samples turned, padding included
  std::int64_t listened_ = 0;
  std::deque<bool> speech_;
  std::int64_t speech_first_ = 0;  // the clip's token that speech_ begins with
  bool is_open_ = false;           // the silence before the clip was turned
  bool is_finished_ = false;
  bool is_closed_ = false;  // the silence behind it was
};

}  // namespace verbatim::voxtral
