// The log-mel spectrogram of a stream with a fixed maximum: the front end of Voxtral Realtime.
// mel = (max(log10(max(W^T P, 1e-10)), global_log_mel_max - 8) + 4) / 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "audio/fft.h"

namespace verbatim {

struct LogMelConfig {  // names as in params.json, audio_encoding_args
  std::int32_t sampling_rate = 16000;
  std::int32_t num_mel_bins = 128;
  std::int32_t hop_length = 160;
  std::int32_t window_size = 400;
  double global_log_mel_max = 1.5;
};

// Slaney filters [window_size / 2 + 1, num_mel_bins] up to 8000 Hz, whatever the rate. Built in
// double, rounded to float32. Throws kUnsupported naming the field that is out of range.
// Reference: mistral_common/audio.py, mel_filter_bank.
std::vector<float> mel_filters(const LogMelConfig& config);

// Reference: transformers, feature_extraction_voxtral_realtime.py, _torch_extract_fbank_features,
// with torch.stft centred. Here all sums and the logarithm run in double: a mel differs by 3e-5 at
// most, just above the floor, and by 2e-7 on average.
class LogMel {
 public:
  explicit LogMel(const LogMelConfig& config);  // throws as mel_filters does

  // Appends the frames that are complete now, [n, num_mel_bins], to `to`. Frame t is complete with
  // sample t hop + window / 2 - 1, frame 0 one sample later. The frames do not depend on the
  // blocks' sizes, to the bit. Allocates for the growth of `to` alone.
  void push(std::span<const float> samples, std::vector<float>& to);
  // No more samples: the right edge is reflected, and the last frame of the centred transform is
  // dropped as the reference does. There are samples / hop frames in all for an even window and
  // (samples - 1) / hop for an odd one.
  void finish(std::vector<float>& to);
  std::int64_t frames() const { return frames_; }  // so far

 private:
  struct Filter {  // one mel bin: weights of neighbouring bins of the transform
    std::size_t first_bin = 0;
    std::size_t first_weight = 0;
    std::size_t weights = 0;
  };

  bool is_complete(std::int64_t frame) const;
  void drop_used();
  std::int64_t reflected(std::int64_t sample) const;
  void append_frame(std::vector<float>& to);

  LogMelConfig config_;
  double floor_ = 0;        // of the logarithm
  double floor_power_ = 0;  // no more than it: the logarithm is the floor
  std::vector<double> window_;
  std::vector<Filter> filters_;
  std::vector<double> weights_;
  RealFft fft_;

  std::vector<float> kept_;   // the samples from first_ on; of a fixed size
  std::int64_t first_ = 0;    // of kept_, counted from the stream's first sample
  std::int64_t samples_ = 0;  // pushed so far
  std::int64_t frames_ = 0;
  bool is_finished_ = false;
  std::vector<double> windowed_, re_, im_;  // of one frame
};

}  // namespace verbatim
