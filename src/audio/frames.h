// What a container yields: interleaved frames at the file's own rate, before channels are chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "audio/byte_input.h"
#include "audio/source.h"

namespace verbatim {

class FrameReader {
 public:
  virtual ~FrameReader() = default;
  virtual std::int32_t sample_rate_hz() const = 0;
  virtual std::int32_t channels() const = 0;
  virtual std::int64_t frames() const = 0;  // in all; -1: unknown
  // Fills whole frames of `interleaved`, whose size is a multiple of channels(); returns how many
  // frames, 0 at the end.
  virtual std::int64_t read(std::span<float> interleaved) = 0;
  // Passes over up to `count` frames where that is cheaper than reading them; returns how many.
  virtual std::int64_t skip(std::int64_t) { return 0; }
  // Appends what was odd so far.
  virtual void add_notes(std::vector<AudioNote>&) const {}
};

// Throws kUnsupported unless the rate is 4 to 768 kHz and there are 1 to 64 channels.
void check_audio_shape(const std::string& name, std::int64_t sample_rate_hz, std::int64_t channels);

// The readers. Null: the container is known but not this coding in it.
std::unique_ptr<FrameReader> open_wav(std::unique_ptr<ByteInput> input);
std::unique_ptr<FrameReader> open_flac(std::unique_ptr<ByteInput> input);
std::unique_ptr<FrameReader> open_raw(std::unique_ptr<ByteInput> input, const RawFormat& format);
std::unique_ptr<FrameReader> open_ffmpeg(const AudioRequest& request);

bool is_wav(ByteInput& input);
bool is_flac(ByteInput& input);

// The reader that the content asks for (registry.cc). Throws as open_audio does.
std::unique_ptr<FrameReader> open_frames(const AudioRequest& request);

}  // namespace verbatim
