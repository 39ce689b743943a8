// What a microphone gives, kept in a file and shown on a meter on its way to the model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "audio/source.h"
#include "audio/wav_writer.h"
#include "cli/level_meter.h"
#include "transcript/event.h"

namespace verbatim {

class HeardSource : public AudioSource {
 public:
  // file: null keeps nothing. A file that cannot be written any more is a warning, and the
  // listening goes on. warn is called by the thread that reads.
  HeardSource(std::unique_ptr<AudioSource> source, std::unique_ptr<WavWriter> file,
              LevelMeter& meter, std::function<void(const Warning&)> warn);

  std::int32_t sample_rate_hz() const override { return source_->sample_rate_hz(); }
  std::int32_t channels() const override { return source_->channels(); }
  double duration_s() const override { return source_->duration_s(); }
  std::size_t read(std::span<float> block) override;
  std::vector<AudioNote> notes() const override { return source_->notes(); }

 private:
  std::unique_ptr<AudioSource> source_;
  std::unique_ptr<WavWriter> file_;
  LevelMeter& meter_;
  std::function<void(const Warning&)> warn_;
  std::int64_t samples_ = 0;
};

}  // namespace verbatim
