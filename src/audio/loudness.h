// The loudness that VibeVoice-ASR wants: a clip is brought to -25 dB of full scale as a whole, then
// down again where its peak would pass 1.
#pragma once

#include <cstdint>
#include <span>

namespace verbatim {

// Applied to each sample in float32: x * scalar, then / divisor.
struct Gain {
  float scalar = 1;
  float divisor = 1;  // 1: the peak stays within 1, nothing is divided

  float operator()(float sample) const {
    const float scaled = sample * scalar;
    return divisor == 1.0F ? scaled : scaled / divisor;
  }
};

// The first pass. The sum of squares runs in double, sample after sample, so that the blocks change
// no bit.
// Reference: vibevoice/processor/vibevoice_tokenizer_processor.py, AudioNormalizer, whose sum is
// NumPy's pairwise one in float32: rms may differ in its last bits, samples by a relative 1e-6.
class Loudness {
 public:
  void push(std::span<const float> samples);
  Gain gain() const;  // of all that was pushed; silence stays silence

 private:
  double sum_of_squares_ = 0;
  std::int64_t samples_ = 0;
  float peak_ = 0;
};

}  // namespace verbatim
