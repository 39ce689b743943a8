// Samples are kept while a frame still wants them; each frame is windowed, transformed, weighted
// and compressed by itself.
#include "audio/log_mel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "base/error.h"
#include "base/math.h"

namespace verbatim {
namespace {

constexpr double kLeastPower = 1e-10;
constexpr double kRange = 8;  // decades below the maximum
constexpr double kMaxFrequencyHz = 8000;
// Samples that fit behind those kept: so many are copied before the kept ones move to the front.
constexpr std::int64_t kRoom = 4096;

void check_range(const char* field, std::int32_t value, std::int32_t low, std::int32_t high) {
  if (value < low || value > high)
    fail(Code::kUnsupported, "audio_encoding_args.%s: found %d, expected %d to %d", field, value,
         low, high);
}

const LogMelConfig& checked(const LogMelConfig& config) {
  check_range("sampling_rate", config.sampling_rate, 1, 768000);
  check_range("num_mel_bins", config.num_mel_bins, 1, 4096);
  check_range("hop_length", config.hop_length, 1, 65536);
  check_range("window_size", config.window_size, 2, 16384);
  if (!std::isfinite(config.global_log_mel_max))
    fail(Code::kUnsupported, "audio_encoding_args.global_log_mel_max: found %g, expected a number",
         config.global_log_mel_max);
  return config;
}

// Slaney's scale: linear below 1000 Hz, which is mel 15, and logarithmic above.
constexpr double kLogHz = 1000;
constexpr double kLogMel = 15;

double mel_of(double hz) {
  if (hz < kLogHz) return 3 * hz / 200;
  return kLogMel + math_log(hz / kLogHz) * (27 / math_log(6.4));
}

double hz_of(double mel) {
  if (mel < kLogMel) return 200 * mel / 3;
  return kLogHz * math_exp(math_log(6.4) / 27 * (mel - kLogMel));
}

}  // namespace

std::vector<float> mel_filters(const LogMelConfig& config) {
  checked(config);
  const auto mels = static_cast<std::size_t>(config.num_mel_bins);
  const auto last_bin = static_cast<std::size_t>(config.window_size / 2);
  std::vector<double> edges_hz(mels + 2);  // filter b rises from edge b to b + 1 and falls to b + 2
  const double mel_step = mel_of(kMaxFrequencyHz) / static_cast<double>(mels + 1);
  for (std::size_t edge = 0; edge < mels + 2; ++edge)
    edges_hz[edge] = hz_of(static_cast<double>(edge) * mel_step);
  edges_hz.back() = hz_of(mel_of(kMaxFrequencyHz));

  const double bin_hz =
      static_cast<double>(config.sampling_rate / 2) / static_cast<double>(last_bin);
  std::vector<float> filters((last_bin + 1) * mels);
  for (std::size_t bin = 0; bin <= last_bin; ++bin) {
    const double hz = static_cast<double>(bin) * bin_hz;
    for (std::size_t mel = 0; mel < mels; ++mel) {
      const double low = edges_hz[mel];
      const double middle = edges_hz[mel + 1];
      const double high = edges_hz[mel + 2];
      const double weight = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      filters[bin * mels + mel] = static_cast<float>(std::max(0.0, weight) * (2 / (high - low)));
    }
  }
  return filters;
}

LogMel::LogMel(const LogMelConfig& config)
    : config_(checked(config)),
      floor_(std::max(config.global_log_mel_max - kRange, -10.0)),
      floor_power_(std::max(math_pow(10, floor_), kLeastPower)),
      fft_(config.window_size) {
  const auto window = static_cast<std::size_t>(config.window_size);
  for (std::size_t at = 0; at < window; ++at) {  // Hann's, periodic
    const double turn = static_cast<double>(at) / static_cast<double>(window);
    window_.push_back(0.5 * (1 - math_cos(2 * std::numbers::pi * turn)));
  }
  const std::size_t bins = window / 2 + 1;
  const auto mels = static_cast<std::size_t>(config.num_mel_bins);
  const std::vector<float> table = mel_filters(config);
  for (std::size_t mel = 0; mel < mels; ++mel) {
    Filter filter{.first_bin = 0, .first_weight = weights_.size(), .weights = 0};
    for (std::size_t bin = 0; bin < bins; ++bin) {  // the bins that weigh are neighbours
      const float weight = table[bin * mels + mel];
      if (weight == 0) continue;
      if (filter.weights == 0) filter.first_bin = bin;
      weights_.push_back(static_cast<double>(weight));
      ++filter.weights;
    }
    filters_.push_back(filter);
  }
  // No incomplete frame keeps more than a window, or a hop and the half of a window before it.
  const std::int64_t most_kept = config.window_size + std::int64_t{config.hop_length} + 1;
  kept_.resize(static_cast<std::size_t>(most_kept + kRoom));
  windowed_.resize(window);
  re_.resize(bins);
  im_.resize(bins);
}

// The last of the conditions: it must not be the frame that finish() drops.
bool LogMel::is_complete(std::int64_t frame) const {
  const std::int64_t window = config_.window_size;
  const std::int64_t half = window / 2;
  const std::int64_t start = frame * config_.hop_length - half;
  return samples_ >= start + window && (start >= 0 || samples_ > half) &&
         samples_ >= (frame + 1) * config_.hop_length + window % 2;
}

void LogMel::drop_used() {
  const std::int64_t half = config_.window_size / 2;
  const std::int64_t wanted = std::max(first_, frames_ * config_.hop_length - half);
  check(wanted <= samples_, "the next frame begins within what was pushed");
  std::copy(kept_.begin() + (wanted - first_), kept_.begin() + (samples_ - first_), kept_.begin());
  first_ = wanted;
}

void LogMel::push(std::span<const float> samples, std::vector<float>& to) {
  check(!is_finished_ || samples.empty(), "nothing is pushed after finish()");
  const auto capacity = static_cast<std::int64_t>(kept_.size());
  while (!samples.empty()) {
    if (samples_ - first_ == capacity) drop_used();
    const auto room = static_cast<std::size_t>(capacity - (samples_ - first_));
    const std::size_t count = std::min(room, samples.size());
    check(count > 0, "used samples leave room");
    std::copy_n(samples.begin(), count, kept_.begin() + (samples_ - first_));
    samples_ += static_cast<std::int64_t>(count);
    samples = samples.subspan(count);
    while (is_complete(frames_)) append_frame(to);
  }
}

void LogMel::finish(std::vector<float>& to) {
  if (is_finished_) return;
  is_finished_ = true;
  const std::int64_t total = (samples_ - config_.window_size % 2) / config_.hop_length;
  while (frames_ < total) append_frame(to);
}

// The sample that stands for one beyond an edge, the edge itself not repeated. A clip shorter than
// half a window, which torch.stft refuses, is reflected to and fro.
std::int64_t LogMel::reflected(std::int64_t sample) const {
  const std::int64_t last = samples_ - 1;
  if (last == 0) return 0;
  const std::int64_t place = std::abs(sample) % (2 * last);
  return std::min(place, 2 * last - place);
}

void LogMel::append_frame(std::vector<float>& to) {
  const std::int64_t window = config_.window_size;
  const std::int64_t start = frames_ * config_.hop_length - window / 2;
  check(std::max<std::int64_t>(start, 0) >= first_, "a frame's samples are still kept");
  if (start >= 0 && start + window <= samples_) {
    const float* samples = kept_.data() + (start - first_);
    for (std::size_t at = 0; at < windowed_.size(); ++at)
      windowed_[at] = window_[at] * static_cast<double>(samples[at]);
  } else {
    for (std::int64_t at = 0; at < window; ++at) {
      const std::int64_t sample = reflected(start + at) - first_;
      check(sample >= 0, "a reflected sample is still kept");
      windowed_[static_cast<std::size_t>(at)] =
          window_[static_cast<std::size_t>(at)] *
          static_cast<double>(kept_[static_cast<std::size_t>(sample)]);
    }
  }
  fft_.transform(windowed_, re_, im_);
  for (std::size_t bin = 0; bin < re_.size(); ++bin)
    re_[bin] = re_[bin] * re_[bin] + im_[bin] * im_[bin];  // the power, in its place

  constexpr double kPerLog = 1 / std::numbers::ln10;
  const std::size_t end = to.size();
  to.resize(end + filters_.size());
  for (std::size_t mel = 0; mel < filters_.size(); ++mel) {
    const Filter& filter = filters_[mel];
    const double* power = re_.data() + filter.first_bin;
    const double* weights = weights_.data() + filter.first_weight;
    double sum = 0;
    for (std::size_t at = 0; at < filter.weights; ++at) sum += weights[at] * power[at];
    const double log = sum > floor_power_ ? math_log(sum) * kPerLog : floor_;
    to[end + mel] = static_cast<float>((std::max(log, floor_) + 4) / 4);
  }
  ++frames_;
}

}  // namespace verbatim
