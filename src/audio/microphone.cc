// Frames become mono at the rate that was asked for; what the device drops is told, not filled in.
#include "audio/microphone.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "audio/frames.h"
#include "audio/pcm.h"
#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late an end may be noticed
constexpr double kRetryS = 1;
constexpr std::int64_t kBlocksPerSecond = 25;  // the most that one read of the device takes

}  // namespace

Microphone::Microphone(std::unique_ptr<CaptureDevice> device, MicrophoneSetup setup)
    : setup_(std::move(setup)) {
  check(device != nullptr, "a microphone begins with a device");
  check(setup_.end != nullptr, "a microphone has an end");
  begin(std::move(device));
  heard_at_s_ = setup_.now_s();
}

void Microphone::begin(std::unique_ptr<CaptureDevice> device) {
  device_ = std::move(device);
  format_ = device_->format();
  check_audio_shape("microphone", format_.sample_rate_hz, format_.channels);
  const auto samples = static_cast<std::size_t>(
                           std::max<std::int64_t>(1, format_.sample_rate_hz / kBlocksPerSecond)) *
                       static_cast<std::size_t>(format_.channels);
  bytes_.resize(samples * sample_bytes(format_.format));
  samples_.resize(samples);
  resampler_.reset();
  if (format_.sample_rate_hz != setup_.sample_rate_hz)
    resampler_.emplace(format_.sample_rate_hz, setup_.sample_rate_hz);
}

std::size_t Microphone::read(std::span<float> block) {
  if (block.empty()) return 0;
  for (;;) {
    if (const std::size_t count = pull(block); count > 0) return count;
    if (is_over_) return 0;
    if (setup_.end->load()) {
      end();
    } else if (device_) {
      capture();
    } else {
      try_again();
    }
  }
}

std::size_t Microphone::pull(std::span<float> block) {
  std::size_t count = 0;
  if (resampler_) {
    count = resampler_->pull(block);
  } else {
    count = std::min(block.size(), last_ - next_);
    std::copy_n(samples_.begin() + static_cast<std::ptrdiff_t>(next_), count, block.begin());
    next_ += count;
  }
  given_ += static_cast<std::int64_t>(count);
  return count;
}

void Microphone::capture() {
  const Captured captured = device_->read(bytes_, kWait);
  hear(captured.frames);
  if (captured.state == Captured::State::kRunning) return;
  // What comes next does not follow on what was captured.
  has_gap_ = true;
  if (resampler_) resampler_->finish();
  if (captured.state == Captured::State::kOverrun) return;
  device_.reset();
  tried_at_s_ = setup_.now_s();
  if (!std::exchange(is_gone_, true)) setup_.gone(captured.reason);
}

void Microphone::hear(std::size_t frames) {
  if (frames == 0) return;
  if (has_gap_) report_gap();
  heard_at_s_ = setup_.now_s();
  const auto channels = static_cast<std::size_t>(format_.channels);
  const std::size_t count = frames * channels;
  decode_samples(format_.format, std::span(bytes_).first(count * sample_bytes(format_.format)),
                 std::span(samples_).first(count));
  bad_samples_ += mix_channels(std::span(samples_).first(count), format_.channels, -1);
  next_ = 0;
  last_ = frames;
  if (resampler_) resampler_->push(std::span(samples_).first(frames));
}

// Everything from before it has been given.
void Microphone::report_gap() {
  has_gap_ = false;
  setup_.gap({static_cast<double>(given_) / setup_.sample_rate_hz, setup_.now_s() - heard_at_s_,
              std::exchange(is_gone_, false)});
  if (resampler_) resampler_.emplace(format_.sample_rate_hz, setup_.sample_rate_hz);
}

void Microphone::try_again() {
  if (setup_.now_s() - tried_at_s_ < kRetryS) return setup_.pause(kWait);
  tried_at_s_ = setup_.now_s();
  OpenedCapture opened = setup_.open();
  if (opened.device) begin(std::move(opened.device));
}

// What the device holds by now was said before the end.
void Microphone::end() {
  if (has_gap_) report_gap();
  if (device_) hear(device_->read(bytes_, std::chrono::milliseconds(0)).frames);
  if (resampler_) resampler_->finish();
  is_over_ = true;
}

std::vector<AudioNote> Microphone::notes() const {
  if (bad_samples_ == 0) return {};
  return {{"audio_not_finite", formatted("%lld samples are NaN or infinite and were taken as 0",
                                         static_cast<long long>(bad_samples_))}};
}

}  // namespace verbatim
