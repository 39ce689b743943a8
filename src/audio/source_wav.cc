// WAV, RF64 and W64: the samples behind the header, from a file, from memory or from a pipe.
#include <algorithm>
#include <utility>

#include "audio/frames.h"
#include "audio/pcm.h"
#include "audio/wav_header.h"
#include "base/error.h"

namespace verbatim {
namespace {

class WavReader : public FrameReader {
 public:
  WavReader(std::unique_ptr<ByteInput> input, const WavHeader& header)
      : input_(std::move(input)), header_(header), truncated_(header.truncated) {
    if (header_.data_bytes) left_bytes_ = *header_.data_bytes;
  }

  std::int32_t sample_rate_hz() const override { return header_.sample_rate_hz; }
  std::int32_t channels() const override { return header_.channels; }
  std::int64_t frames() const override {
    // What the header of a pipe promises cannot be checked.
    if (!header_.data_bytes || !input_->size()) return -1;
    return static_cast<std::int64_t>(*header_.data_bytes / header_.frame_bytes);
  }

  std::int64_t read(std::span<float> interleaved) override {
    const auto channels = static_cast<std::size_t>(header_.channels);
    const std::size_t frames_wanted =
        std::min<std::uint64_t>(interleaved.size() / channels, left_bytes_ / header_.frame_bytes);
    if (is_at_end_ || frames_wanted == 0) return end();
    bytes_.resize(frames_wanted * header_.frame_bytes);
    const std::size_t got = input_->read_units(bytes_, header_.frame_bytes);
    left_bytes_ -= got;
    const std::size_t frames = got / header_.frame_bytes;
    if (frames == 0) {
      truncated_ = truncated_ || header_.data_bytes || got > 0;
      return end();
    }
    decode_samples(header_.format, std::span(bytes_).first(frames * header_.frame_bytes),
                   interleaved.first(frames * channels));
    return static_cast<std::int64_t>(frames);
  }

  std::int64_t skip(std::int64_t count) override {
    const std::uint64_t wanted =
        std::min(static_cast<std::uint64_t>(count), left_bytes_ / header_.frame_bytes);
    const std::uint64_t skipped = input_->skip(wanted * header_.frame_bytes);
    left_bytes_ -= skipped;
    // A pipe may end inside a frame; what follows would be out of step.
    if (skipped < wanted * header_.frame_bytes) {
      truncated_ = truncated_ || header_.data_bytes || skipped % header_.frame_bytes != 0;
      left_bytes_ = 0;
    }
    return static_cast<std::int64_t>(skipped / header_.frame_bytes);
  }

  void add_notes(std::vector<AudioNote>& notes) const override {
    if (truncated_)
      notes.push_back({"audio_truncated", "the audio ends before the length that the header says"});
  }

 private:
  std::int64_t end() {
    if (!is_at_end_) input_->finish();
    is_at_end_ = true;
    return 0;
  }

  std::unique_ptr<ByteInput> input_;
  WavHeader header_;
  std::uint64_t left_bytes_ = ~std::uint64_t{0};
  bool truncated_;
  bool is_at_end_ = false;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<FrameReader> open_wav(std::unique_ptr<ByteInput> input) {
  const std::optional<WavHeader> header = read_wav_header(*input);
  if (!header) return nullptr;
  return std::make_unique<WavReader>(std::move(input), *header);
}

}  // namespace verbatim
