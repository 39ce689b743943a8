// A recording that is a whole WAV file at any moment: after each block, and where the program was
// killed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace verbatim {

// 32-bit floats, so that nothing is lost of what was heard. Mono. From 4 GiB on it is an RF64 file.
class WavWriter {
 public:
  // Begins with an empty recording in place of what was there. Throws kIo or kInvalidArgument (no
  // regular file) naming the path.
  WavWriter(std::string path, std::int32_t sample_rate_hz);

  // False when the disk refuses; from then on nothing is written, and the file ends with the block
  // before.
  bool append(std::span<const float> samples);
  const std::string& problem() const { return problem_; }  // one sentence naming the path

 private:
  bool write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  std::string path_;
  std::int32_t sample_rate_hz_;
  Descriptor file_;
  std::uint64_t data_bytes_ = 0;
  std::string problem_;
};

// What stands before `data_bytes` of such samples; its own size does not depend on them.
std::string float_wav_header(std::int32_t sample_rate_hz, std::uint64_t data_bytes);

}  // namespace verbatim
