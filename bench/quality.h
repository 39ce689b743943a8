// A checkpoint in many formats over the same recordings.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/quality_clips.h"
#include "bench/quality_run.h"

namespace verbatim {

struct QualityRow {
  Quantization quant;
  std::size_t weights_bytes = 0;
  WordErrors truth;          // against what is said, where that is known
  WordErrors dense;          // against what the weights as they are stored say
  Agreement agreement;       // with their decisions, under their own past
  std::string text() const;  // "int4", "w4a8, encoder w8a8, head int8"
};

// What --quant makes of the decoder, each recipe; then the encoder; then all parts of a model.
std::vector<Quantization> all_quantizations();

class QualityBench {
 public:
  // Runs the weights as they are stored; everything is compared with that.
  QualityBench(const EngineOptions& options, const std::vector<std::string>& files);
  const std::vector<QualityClip>& clips() const { return clips_; }
  double audio_s() const;
  const QualityRow& stored() const { return stored_; }
  QualityRow run(const Quantization& quant) const;

 private:
  QualityRow measure(QualityModel& model, const Quantization& quant) const;
  EngineOptions options_;
  std::int32_t sample_rate_hz_ = 0;
  std::vector<QualityClip> clips_;
  std::vector<Spoken> spoken_;  // of the weights as they are stored, clip by clip
  QualityRow stored_;
};

}  // namespace verbatim
