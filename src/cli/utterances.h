// Cuts what is heard into utterances, for models that answer a whole clip at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/vad.h"

namespace verbatim {

struct Utterance {
  std::int64_t first = 0;  // sample of all that was heard
  std::vector<float> samples;
};

// An utterance is speech with pauses below 0.7 s, half a second before it and 0.3 s behind it. One
// that grows longer than the bound is cut where it is quietest in its last third (of which the last
// five seconds count), and goes on in the next. What is between utterances is dropped. Decisions
// fall at frames of 20 ms counted from the first sample: no cut depends on the blocks.
class UtteranceCutter {
 public:
  UtteranceCutter(std::int32_t sample_rate_hz, double max_utterance_s);  // the bound >= 1 s

  void push(std::span<const float> samples);
  void finish();  // ends an utterance that is still open
  // Finished utterances since the last call, in order.
  std::vector<Utterance> take();

 private:
  std::int64_t heard() const { return first_ + static_cast<std::int64_t>(audio_.size()); }
  void end_frame();
  void follow(bool is_speech);
  std::int64_t quietest() const;
  void emit(std::int64_t end);
  void forget(std::int64_t before);

  Vad vad_;
  std::int64_t frame_samples_;
  std::int64_t max_samples_;
  std::int64_t lead_samples_;
  std::int64_t pause_samples_;

  std::vector<float> audio_;     // from sample first_ on
  std::int64_t first_ = 0;       // samples before it are forgotten
  std::int64_t next_frame_ = 0;  // where the frame that is being filled begins
  bool is_open_ = false;
  std::int64_t start_ = 0;  // of the utterance that is open, or the end of the one before
  std::int64_t end_ = -1;   // of its last speech, while a pause lasts; -1: it goes on
  std::vector<Utterance> done_;
};

}  // namespace verbatim
