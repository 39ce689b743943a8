// Headerless PCM, as a pipe from a recorder or another program carries it.
#include <utility>

#include "audio/frames.h"
#include "audio/pcm.h"
#include "base/error.h"

namespace verbatim {
namespace {

class RawReader : public FrameReader {
 public:
  RawReader(std::unique_ptr<ByteInput> input, const RawFormat& format)
      : input_(std::move(input)),
        format_(format),
        frame_bytes_(sample_bytes(format.format) * static_cast<std::size_t>(format.channels)) {}

  std::int32_t sample_rate_hz() const override { return format_.sample_rate_hz; }
  std::int32_t channels() const override { return format_.channels; }
  std::int64_t frames() const override {
    const std::optional<std::uint64_t> size = input_->size();
    return size ? static_cast<std::int64_t>(*size / frame_bytes_) : -1;
  }

  std::int64_t read(std::span<float> interleaved) override {
    const auto channels = static_cast<std::size_t>(format_.channels);
    bytes_.resize(interleaved.size() / channels * frame_bytes_);
    const std::size_t got = input_->read_units(bytes_, frame_bytes_);
    const std::size_t frames = got / frame_bytes_;
    if (got % frame_bytes_ != 0) truncated_ = true;
    decode_samples(format_.format, std::span(bytes_).first(frames * frame_bytes_),
                   interleaved.first(frames * channels));
    return static_cast<std::int64_t>(frames);
  }

  void add_notes(std::vector<AudioNote>& notes) const override {
    if (truncated_) notes.push_back({"audio_truncated", "the audio ends inside a frame"});
  }

 private:
  std::unique_ptr<ByteInput> input_;
  RawFormat format_;
  std::size_t frame_bytes_;
  bool truncated_ = false;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<FrameReader> open_raw(std::unique_ptr<ByteInput> input, const RawFormat& format) {
  check_audio_shape(input->name(), format.sample_rate_hz, format.channels);
  return std::make_unique<RawReader>(std::move(input), format);
}

}  // namespace verbatim
