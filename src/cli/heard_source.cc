// Passes samples on as they are.
#include "cli/heard_source.h"

#include <utility>

namespace verbatim {

HeardSource::HeardSource(std::unique_ptr<AudioSource> source, std::unique_ptr<WavWriter> file,
                         LevelMeter& meter, std::function<void(const Warning&)> warn)
    : source_(std::move(source)), file_(std::move(file)), meter_(meter), warn_(std::move(warn)) {}

std::size_t HeardSource::read(std::span<float> block) {
  const std::size_t count = source_->read(block);
  const std::span<const float> heard = block.first(count);
  const double before_s = static_cast<double>(samples_) / sample_rate_hz();
  samples_ += static_cast<std::int64_t>(count);
  meter_.hear(heard, static_cast<double>(samples_) / sample_rate_hz());
  if (file_ && !file_->append(heard)) {
    warn_(
        {"audio_not_saved", "what follows is not saved: " + file_->problem(), before_s, before_s});
    file_.reset();
  }
  return count;
}

}  // namespace verbatim
