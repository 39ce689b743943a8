// rms = sqrt(mean(x^2)); scalar = 10^(-25/20) / (rms + 1e-6); m = max|x scalar|; over 1: / (m +
// 1e-6).
#include "audio/loudness.h"

#include <algorithm>
#include <cmath>

namespace verbatim {
namespace {

constexpr float kTarget = 0.05623413251903491F;  // 10^(-25 / 20)
constexpr float kEpsilon = 1e-6F;

}  // namespace

void Loudness::push(std::span<const float> samples) {
  for (const float sample : samples) {
    const double wide = static_cast<double>(sample);
    sum_of_squares_ += wide * wide;
    peak_ = std::max(peak_, std::abs(sample));
  }
  samples_ += static_cast<std::int64_t>(samples.size());
}

Gain Loudness::gain() const {
  if (samples_ == 0) return {};
  const auto rms = static_cast<float>(std::sqrt(sum_of_squares_ / static_cast<double>(samples_)));
  Gain gain{.scalar = kTarget / (rms + kEpsilon), .divisor = 1};
  // Rounding keeps order, so the largest sample is the largest after the gain as well.
  const float peak = peak_ * gain.scalar;
  if (peak > 1) gain.divisor = peak + kEpsilon;
  return gain;
}

}  // namespace verbatim
