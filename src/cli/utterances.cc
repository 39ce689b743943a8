// The detector of speech tells where somebody speaks; here are the margins, the pauses and the
// bound.
#include "cli/utterances.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"

namespace verbatim {
namespace {

constexpr double kFrameS = 0.02;
constexpr double kLeadS = 0.5;   // before speech is noticed: soft beginnings, and its first 0.1 s
constexpr double kPauseS = 0.4;  // behind the detector's hangover of 0.3 s
constexpr double kSearchS = 5;   // the most that is searched for a quiet place
constexpr std::int64_t kQuiet =
    5;  // frames that are weighed together, longer than a stop consonant

}  // namespace

UtteranceCutter::UtteranceCutter(std::int32_t sample_rate_hz, double max_utterance_s)
    : vad_(sample_rate_hz),
      frame_samples_(std::max<std::int64_t>(1, std::llround(sample_rate_hz * kFrameS))),
      max_samples_(std::llround(sample_rate_hz * max_utterance_s) / frame_samples_ *
                   frame_samples_),
      lead_samples_(std::llround(sample_rate_hz * kLeadS)),
      pause_samples_(std::llround(sample_rate_hz * kPauseS)) {
  check(max_utterance_s >= 1, "an utterance may last a second");
}

void UtteranceCutter::push(std::span<const float> samples) {
  while (!samples.empty()) {
    const auto missing = static_cast<std::size_t>(next_frame_ + frame_samples_ - heard());
    const std::span<const float> part = samples.first(std::min(missing, samples.size()));
    audio_.insert(audio_.end(), part.begin(), part.end());
    samples = samples.subspan(part.size());
    if (part.size() == missing) end_frame();
  }
}

void UtteranceCutter::end_frame() {
  vad_.push(std::span(audio_).last(static_cast<std::size_t>(frame_samples_)));
  (void)vad_.take();
  next_frame_ = heard();
  follow(vad_.is_speech());
  const std::int64_t needed = is_open_ ? start_ : std::max(start_, heard() - lead_samples_);
  // Not at each frame: moving what stays costs.
  if (needed - first_ > 2 * lead_samples_) forget(needed);
}

void UtteranceCutter::follow(bool is_speech) {
  if (!is_open_) {
    if (!is_speech) return;
    is_open_ = true;
    start_ = std::max({start_, first_, heard() - lead_samples_});
    end_ = -1;
  } else if (is_speech) {
    end_ = -1;
  } else if (end_ < 0) {
    end_ = heard();
  }
  if (end_ >= 0 && heard() - end_ >= pause_samples_) {
    emit(end_);
    is_open_ = false;
  } else if (heard() - start_ >= max_samples_) {
    // One that pauses here is over here.
    is_open_ = end_ < 0;
    emit(is_open_ ? quietest() : end_);
  }
}

// The middle of the quietest frames; of equal ones the last.
std::int64_t UtteranceCutter::quietest() const {
  const std::int64_t searched =
      std::min<std::int64_t>(max_samples_ / 3, std::llround(kSearchS / kFrameS) * frame_samples_);
  const std::int64_t frames = searched / frame_samples_;
  std::vector<double> energies;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    double sum = 0;
    const auto begin =
        static_cast<std::size_t>(heard() - first_ - (frames - frame) * frame_samples_);
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(frame_samples_); ++i)
      sum += static_cast<double>(audio_[i]) * static_cast<double>(audio_[i]);
    energies.push_back(sum);
  }
  std::int64_t best = frames - 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t frame = 0; frame + kQuiet <= frames; ++frame) {
    double sum = 0;
    for (std::int64_t i = frame; i < frame + kQuiet; ++i)
      sum += energies[static_cast<std::size_t>(i)];
    if (sum > least) continue;
    least = sum;
    best = frame + kQuiet / 2;
  }
  return heard() - (frames - best) * frame_samples_ + frame_samples_ / 2;
}

void UtteranceCutter::emit(std::int64_t end) {
  const auto at = [&](std::int64_t sample) { return audio_.begin() + (sample - first_); };
  done_.push_back({start_, {at(start_), at(end)}});
  start_ = end;
}

void UtteranceCutter::forget(std::int64_t before) {
  audio_.erase(audio_.begin(), audio_.begin() + (before - first_));
  first_ = before;
}

void UtteranceCutter::finish() {
  if (is_open_) emit(end_ < 0 ? heard() : end_);
  is_open_ = false;
}

std::vector<Utterance> UtteranceCutter::take() {
  return std::exchange(done_, {});
}

}  // namespace verbatim
