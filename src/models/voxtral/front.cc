// Silence before, samples, silence behind. Reference: mistral_common tokens/tokenizers/audio.py,
// AudioEncoder.pad.
#include "models/voxtral/front.h"

#include <algorithm>

namespace verbatim::voxtral {
namespace {

constexpr std::int64_t kAheadSeconds = 4;  // of samples and rows that wait

}  // namespace

Front::Front(const Config& config, const Schedule& schedule)
    : config_(config), schedule_(schedule), mel_(config.mel), vad_(config.mel.sampling_rate) {}

void Front::push(std::span<const float> pcm) {
  pcm_.insert(pcm_.end(), pcm.begin(), pcm.end());
  samples_ += static_cast<std::int64_t>(pcm.size());
}

std::size_t Front::room() const {
  const std::int64_t rows = static_cast<std::int64_t>(rows_.size()) / config_.mel.num_mel_bins;
  const std::int64_t waiting =
      static_cast<std::int64_t>(pcm_.size()) + rows * config_.mel.hop_length;
  // The silence before the clip does not count.
  const std::int64_t most =
      kAheadSeconds * config_.mel.sampling_rate + schedule_.left_pad * schedule_.token_samples;
  return static_cast<std::size_t>(std::max<std::int64_t>(0, most - waiting));
}

void Front::advance(const Trace& trace) {
  if (!is_open_) {
    is_open_ = true;
    pad(schedule_.left_pad * schedule_.token_samples, trace);
  }
  listen(pcm_);
  take(pcm_, trace);
  pcm_.clear();
  if (!is_finished_ || is_closed_) return;
  is_closed_ = true;
  if (samples_ % schedule_.token_samples != 0) speech_.push_back(vad_.is_speech());
  const std::int64_t align =
      (schedule_.token_samples - samples_ % schedule_.token_samples) % schedule_.token_samples;
  pad(align + schedule_.right_pad() * schedule_.token_samples, trace);
  const std::size_t before = rows_.size();
  mel_.finish(rows_);
  const std::int64_t bins = config_.mel.num_mel_bins;
  const auto made = static_cast<std::int64_t>(rows_.size() - before) / bins;
  trace.host("mel", host_rows(std::span(rows_).subspan(before), made), mel_.frames() - made);
}

void Front::take(std::span<const float> samples, const Trace& trace) {
  if (samples.empty()) return;
  trace.host("padded", host_rows(samples, static_cast<std::int64_t>(samples.size())), padded_);
  padded_ += static_cast<std::int64_t>(samples.size());
  const std::size_t before = rows_.size();
  mel_.push(samples, rows_);
  const auto made = static_cast<std::int64_t>(rows_.size() - before) / config_.mel.num_mel_bins;
  if (made == 0) return;
  trace.host("mel", host_rows(std::span(rows_).subspan(before), made), mel_.frames() - made);
}

void Front::listen(std::span<const float> samples) {
  while (!samples.empty()) {
    const auto left =
        static_cast<std::size_t>(schedule_.token_samples - listened_ % schedule_.token_samples);
    const std::size_t count = std::min(left, samples.size());
    vad_.push(samples.first(count));
    listened_ += static_cast<std::int64_t>(count);
    if (count == left) speech_.push_back(vad_.is_speech());
    samples = samples.subspan(count);
  }
  vad_.take();  // only what is now is asked for; the intervals would pile up
}

void Front::pad(std::int64_t samples, const Trace& trace) {
  const std::vector<float> silence(static_cast<std::size_t>(samples), 0.0F);
  take(silence, trace);
}

std::int64_t Front::tokens() const {
  return static_cast<std::int64_t>(rows_.size()) /
         (std::int64_t{config_.mel.num_mel_bins} * config_.token_mel_frames());
}

std::span<const float> Front::rows(std::int64_t tokens) const {
  return std::span(rows_).first(
      static_cast<std::size_t>(tokens * config_.token_mel_frames() * config_.mel.num_mel_bins));
}

void Front::drop(std::int64_t tokens) {
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(rows(tokens).size()));
}

bool Front::is_speech(std::int64_t token) {
  while (!speech_.empty() && speech_first_ < token) {
    speech_.pop_front();
    ++speech_first_;
  }
  return !speech_.empty() && speech_first_ == token && speech_.front();
}

}  // namespace verbatim::voxtral
