// Where somebody speaks: energy over an adaptive noise floor, with a hangover.
#include "audio/vad.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/math.h"

namespace verbatim {
namespace {

constexpr double kFrameS = 0.02;
constexpr double kOverFloorDb = 9;          // speech is this much above the floor
constexpr double kLeastDb = -60;            // of full scale; quieter is never speech
constexpr std::int64_t kFloorFrames = 150;  // no syllable lasts as long: such a level is no speech
constexpr std::int64_t kLeastFrames = 5;    // loud ones in a row that begin speech
constexpr std::int64_t kHangoverFrames = 15;

double energy_ratio(double decibels) {
  return math_exp(decibels * 0.23025850929940457);
}

}  // namespace

Vad::Vad(std::int32_t sample_rate_hz)
    : frame_samples_(std::max<std::int64_t>(1, std::llround(sample_rate_hz * kFrameS))),
      over_floor_(energy_ratio(kOverFloorDb)),
      least_energy_(energy_ratio(kLeastDb)),
      recent_(kFloorFrames) {
  check(sample_rate_hz > 0, "a sample rate is positive");
  frame_s_ = static_cast<double>(frame_samples_) / sample_rate_hz;
}

void Vad::push(std::span<const float> samples) {
  for (const float sample : samples) {
    const double wide = static_cast<double>(sample);
    sum_ += wide * wide;
    if (++filled_ == frame_samples_) end_frame();
  }
}

void Vad::end_frame() {
  const double energy = sum_ / static_cast<double>(frame_samples_);
  sum_ = 0;
  filled_ = 0;
  // The first frames repeat themselves, so that a clip does not begin in silence that is not there.
  if (frames_ == 0) last_[0] = last_[1] = energy;
  const double smooth = (energy + last_[0] + last_[1]) * (1.0 / 3);
  last_[1] = std::exchange(last_[0], energy);
  recent_[static_cast<std::size_t>(frames_ % kFloorFrames)] = smooth;
  const std::int64_t known = std::min(frames_ + 1, kFloorFrames);
  const double floor = *std::min_element(recent_.begin(), recent_.begin() + known);

  const std::int64_t frame = frames_++;
  const bool is_loud = smooth > floor * over_floor_ && smooth > least_energy_;
  if (is_loud) {
    if (loud_++ == 0 && !is_speech_) start_ = frame;
    last_loud_ = frame;
    if (loud_ >= kLeastFrames) is_speech_ = true;
    return;
  }
  loud_ = 0;
  if (is_speech_ && frame - last_loud_ >= kHangoverFrames) {
    done_.push_back(
        {static_cast<double>(start_) * frame_s_, static_cast<double>(last_loud_ + 1) * frame_s_});
    is_speech_ = false;
  }
}

void Vad::finish() {
  if (!is_speech_) return;
  done_.push_back(
      {static_cast<double>(start_) * frame_s_, static_cast<double>(last_loud_ + 1) * frame_s_});
  is_speech_ = false;
}

std::vector<Interval> Vad::take() {
  return std::exchange(done_, {});
}

}  // namespace verbatim
