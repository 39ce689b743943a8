// Any whole rate to any other: a windowed sinc evaluated at each output's own place.
#include "audio/resampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/math.h"

namespace verbatim {
namespace {

// In units of the lower Nyquist frequency; soxr's HQ passes up to 0.913.
constexpr double kPassEnd = 0.913;
constexpr double kStopBegin = 1.0;
constexpr double kAttenuationDb = 120;
constexpr int kLanes = 16;
// Used samples are dropped by this many at once.
constexpr std::size_t kKeptSamples = 4096;
// Above this the phases are not tabled one by one but interpolated on a grid.
constexpr std::int64_t kMostTableFloats = std::int64_t{1} << 20;
// Of the grid, per sample of the lower rate: linear interpolation errs by (pi / 4096)^2 / 8 of the
// signal at most, -142 dB.
constexpr double kGrid = 4096;

// The modified Bessel function I0 by its series, to the last bit of a double.
double bessel_i0(double x) {
  const double quarter = x * x / 4;
  double term = 1;
  double sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

// Kaiser's rules (Oppenheim and Schafer, Discrete-Time Signal Processing, 7.5.3).
constexpr double kBeta = 0.1102 * (kAttenuationDb - 8.7);
constexpr double kHalfWidth =  // of the kernel, in samples of the lower rate
    (kAttenuationDb - 7.95) / (2.285 * std::numbers::pi * (kStopBegin - kPassEnd)) / 2;
constexpr double kCutoff = (kPassEnd + kStopBegin) / 2;

// Kernel at `t` samples of the lower rate from its middle, up to a factor.
double kernel(double t, double i0_beta) {
  const double place = t / kHalfWidth;
  if (place * place >= 1) return 0;
  const double angle = std::numbers::pi * kCutoff * t;
  const double sinc = t == 0 ? 1 : math_sin(angle) / angle;
  return sinc * (bessel_i0(kBeta * std::sqrt(1 - place * place)) / i0_beta);
}

float dot(const float* a, const float* b, std::int64_t count) {
  std::array<float, kLanes> sums{};
  for (std::int64_t i = 0; i < count; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t at = static_cast<std::size_t>(i) + lane;
      sums[lane] += a[at] * b[at];
    }
  for (std::size_t width = kLanes / 2; width > 0; width /= 2)
    for (std::size_t lane = 0; lane < width; ++lane) sums[lane] += sums[lane + width];
  return sums[0];
}

}  // namespace

Resampler::Resampler(std::int32_t in_hz, std::int32_t out_hz) {
  if (in_hz < 1 || in_hz > 768000 || out_hz < 1 || out_hz > 768000)
    fail(Code::kUnsupported, "resampling from %d to %d Hz, expected rates of 1 to 768000 Hz", in_hz,
         out_hz);
  const std::int64_t common = std::gcd(in_hz, out_hz);
  up_ = out_hz / common;
  down_ = in_hz / common;
  // Samples of the lower rate per input sample.
  const double scale = std::min(1.0, static_cast<double>(up_) / static_cast<double>(down_));
  const auto half = static_cast<std::int64_t>(std::ceil(kHalfWidth / scale));
  taps_ = (2 * half + kLanes - 1) / kLanes * kLanes;
  phases_ = up_;
  std::int64_t rows = up_;
  if (rows * taps_ > kMostTableFloats) {
    phases_ = std::max<std::int64_t>(16, static_cast<std::int64_t>(kGrid * scale));
    rows = phases_ + 1;  // the last is the first, one sample later
  }
  // Row p, tap k weighs the sample (k - half + 1) after the whole part of the place, whose fraction
  // is p / phases. Each row sums to 1, so that a constant stays what it is.
  table_.resize(static_cast<std::size_t>(rows * taps_));
  std::vector<double> row(static_cast<std::size_t>(taps_));
  const double i0_beta = bessel_i0(kBeta);
  for (std::int64_t p = 0; p < rows; ++p) {
    const double fraction = static_cast<double>(p) / static_cast<double>(phases_);
    double sum = 0;
    for (std::int64_t k = 0; k < taps_; ++k) {
      const double t = static_cast<double>(k - half + 1) - fraction;
      sum += row[static_cast<std::size_t>(k)] = kernel(t * scale, i0_beta);
    }
    for (std::int64_t k = 0; k < taps_; ++k)
      table_[static_cast<std::size_t>(p * taps_ + k)] =
          static_cast<float>(row[static_cast<std::size_t>(k)] / sum);
  }
  history_.assign(static_cast<std::size_t>(half - 1), 0.0F);
}

void Resampler::push(std::span<const float> samples) {
  if (samples.empty()) return;
  check(!is_finished_, "nothing is pushed after finish()");
  if (first_ > kKeptSamples) {
    // It lies within: a step between outputs is shorter than the kernel.
    history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  history_.insert(history_.end(), samples.begin(), samples.end());
  pushed_ += static_cast<std::int64_t>(samples.size());
}

void Resampler::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  history_.resize(history_.size() + static_cast<std::size_t>(taps_), 0.0F);
}

float Resampler::at_phase(const float* samples) const {
  if (phases_ == up_) return dot(table_.data() + phase_ * taps_, samples, taps_);
  const std::int64_t place = phase_ * phases_;
  const float* row = table_.data() + place / up_ * taps_;
  const float fraction = static_cast<float>(place % up_) / static_cast<float>(up_);
  const float low = dot(row, samples, taps_);
  return low + fraction * (dot(row + taps_, samples, taps_) - low);
}

std::size_t Resampler::pull(std::span<float> block) {
  std::size_t count = 0;
  const std::int64_t outputs = is_finished_ ? (pushed_ * up_ + down_ - 1) / down_ : given_ + 1;
  for (; count < block.size(); ++count) {
    if (is_finished_ ? given_ >= outputs
                     : first_ + static_cast<std::size_t>(taps_) > history_.size())
      break;
    block[count] = at_phase(history_.data() + first_);
    phase_ += down_;
    first_ += static_cast<std::size_t>(phase_ / up_);
    phase_ %= up_;
    ++given_;
  }
  return count;
}

}  // namespace verbatim
