// Channels become one, start and duration are cut, and the resampler follows: the same for every
// container.
#include "audio/source.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "audio/frames.h"
#include "audio/pcm.h"
#include "audio/resampler.h"
#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::int32_t kLeastRateHz = 4000;
constexpr std::int32_t kMostRateHz = 768000;
constexpr std::int32_t kMostChannels = 64;
constexpr std::size_t kBlockSamples = 16384;  // of all channels together

std::string name_of(const AudioRequest& request) {
  return request.what == "-" ? "stdin" : request.what;
}

// Mono at the file's own rate, cut to start and duration.
class MonoReader {
 public:
  MonoReader(std::unique_ptr<FrameReader> frames, const AudioRequest& request)
      : frames_(std::move(frames)), name_(name_of(request)), channel_(request.channel) {
    const auto channels = static_cast<std::size_t>(frames_->channels());
    block_.resize(std::max<std::size_t>(1, kBlockSamples / channels) * channels);
    const double rate = frames_->sample_rate_hz();
    start_ = std::llround(request.start_s * rate);
    if (request.duration_s > 0)
      left_ = std::max<std::int64_t>(1, std::llround(request.duration_s * rate));
    is_live_ = request.live_end != nullptr;
    if (!is_live_) most_ = static_cast<std::int64_t>(rate * request.limits.audio_s);
    pass_start(request.start_s);
    if (samples() > most_) fail_too_long();
  }

  // Samples that read() will give in all; -1: unknown.
  std::int64_t samples() const {
    return frames_->frames() < 0 ? -1 : std::min(left_at_start(), frames_->frames() - start_);
  }
  const FrameReader& frames() const { return *frames_; }

  // The next samples, nothing at the end; valid until the next call. `most` > 0.
  std::span<const float> read(std::size_t most) {
    const auto channels = static_cast<std::size_t>(frames_->channels());
    const auto wanted = static_cast<std::size_t>(
        std::min<std::int64_t>({static_cast<std::int64_t>(most),
                                static_cast<std::int64_t>(block_.size() / channels), left_}));
    if (wanted == 0) return {};
    const std::int64_t count = frames_->read(std::span(block_).first(wanted * channels));
    left_ -= count;
    given_ += count;
    if (given_ > most_) fail_too_long();
    // Who ends live audio before its first sample has made no mistake.
    if (count == 0 && given_ == 0 && !is_live_)
      fail(Code::kCorrupt, "%s: holds no audio", name_.c_str());
    bad_samples_ +=
        mix_channels(std::span(block_).first(static_cast<std::size_t>(count * frames_->channels())),
                     frames_->channels(), channel_);
    return std::span(block_).first(static_cast<std::size_t>(count));
  }

  void add_notes(std::vector<AudioNote>& notes) const {
    frames_->add_notes(notes);
    if (bad_samples_ > 0)
      notes.push_back(
          {"audio_not_finite", formatted("%lld samples are NaN or infinite and were taken as 0",
                                         static_cast<long long>(bad_samples_))});
  }

 private:
  std::int64_t left_at_start() const { return left_ + given_; }

  [[noreturn]] void fail_too_long() const {
    fail(Code::kExhausted, "%s: more than %g s of audio, the most that is read", name_.c_str(),
         static_cast<double>(most_) / frames_->sample_rate_hz());
  }

  void pass_start(double start_s) {
    std::int64_t passed = 0;
    while (passed < start_) {
      const std::int64_t left = start_ - passed;
      std::int64_t count = frames_->skip(left);
      if (count == 0) {
        const std::size_t wanted = static_cast<std::size_t>(std::min<std::int64_t>(
            left, static_cast<std::int64_t>(block_.size()) / frames_->channels()));
        count = frames_->read(
            std::span(block_).first(wanted * static_cast<std::size_t>(frames_->channels())));
      }
      if (count == 0) break;
      passed += count;
    }
    if (passed < start_ || (start_ > 0 && frames_->frames() == start_))
      fail(Code::kInvalidArgument, "%s: the start at %g s is beyond its end at %.2f s",
           name_.c_str(), start_s, static_cast<double>(passed) / frames_->sample_rate_hz());
  }

  std::unique_ptr<FrameReader> frames_;
  std::string name_;
  std::int32_t channel_;
  std::int64_t start_ = 0;
  std::int64_t left_ = std::int64_t{1} << 62;
  bool is_live_ = false;
  std::int64_t most_ = std::int64_t{1} << 62;
  std::int64_t given_ = 0;
  std::int64_t bad_samples_ = 0;
  std::vector<float> block_;
};

class ResampledSource : public AudioSource {
 public:
  ResampledSource(MonoReader mono, std::int32_t sample_rate_hz)
      : mono_(std::move(mono)), sample_rate_hz_(sample_rate_hz) {
    const std::int32_t own = mono_.frames().sample_rate_hz();
    if (own != sample_rate_hz_) resampler_.emplace(own, sample_rate_hz_);
  }

  std::int32_t sample_rate_hz() const override { return sample_rate_hz_; }
  std::int32_t channels() const override { return mono_.frames().channels(); }
  double duration_s() const override {
    const std::int64_t samples = mono_.samples();
    return samples < 0 ? 0 : static_cast<double>(samples) / mono_.frames().sample_rate_hz();
  }

  std::size_t read(std::span<float> block) override {
    if (block.empty()) return 0;
    if (!resampler_) {
      const std::span<const float> samples = mono_.read(block.size());
      std::copy(samples.begin(), samples.end(), block.begin());
      return samples.size();
    }
    for (;;) {
      const std::size_t count = resampler_->pull(block);
      if (count > 0 || is_at_end_) return count;
      const std::span<const float> samples = mono_.read(kBlockSamples);
      is_at_end_ = samples.empty();
      if (is_at_end_) resampler_->finish();
      resampler_->push(samples);
    }
  }

  std::vector<AudioNote> notes() const override {
    std::vector<AudioNote> notes;
    mono_.add_notes(notes);
    return notes;
  }

 private:
  MonoReader mono_;
  std::int32_t sample_rate_hz_;
  std::optional<Resampler> resampler_;
  bool is_at_end_ = false;
};

}  // namespace

void check_audio_shape(const std::string& name, std::int64_t sample_rate_hz,
                       std::int64_t channels) {
  if (sample_rate_hz < kLeastRateHz || sample_rate_hz > kMostRateHz)
    fail(Code::kUnsupported, "%s: sample rate %lld Hz, expected %d to %d Hz", name.c_str(),
         static_cast<long long>(sample_rate_hz), kLeastRateHz, kMostRateHz);
  if (channels < 1 || channels > kMostChannels)
    fail(Code::kUnsupported, "%s: %lld channels, expected 1 to %d", name.c_str(),
         static_cast<long long>(channels), kMostChannels);
}

std::unique_ptr<AudioSource> open_audio(const AudioRequest& request) {
  const std::string name = name_of(request);
  if (!(request.start_s >= 0 && request.start_s < 1e9) ||
      !(request.duration_s >= 0 && request.duration_s < 1e9))
    fail(Code::kInvalidArgument, "%s: start %g s and duration %g s, expected numbers from 0 to 1e9",
         name.c_str(), request.start_s, request.duration_s);
  std::unique_ptr<FrameReader> frames = open_frames(request);
  if (request.channel >= frames->channels())
    fail(Code::kInvalidArgument, "%s: channel %d was asked for, but it has %d (from 0)",
         name.c_str(), request.channel, frames->channels());
  const std::int32_t rate =
      request.sample_rate_hz > 0 ? request.sample_rate_hz : frames->sample_rate_hz();
  return std::make_unique<ResampledSource>(MonoReader(std::move(frames), request), rate);
}

AudioFacts audio_facts(const AudioRequest& request) {
  const std::unique_ptr<FrameReader> frames = open_frames(request);
  const std::int64_t count = frames->frames();
  return {frames->sample_rate_hz(), frames->channels(),
          count < 0 ? 0 : static_cast<double>(count) / frames->sample_rate_hz()};
}

}  // namespace verbatim
