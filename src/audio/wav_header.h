// The header of a WAV, RF64 or W64 file: everything before the first sample.
#pragma once

#include <cstdint>
#include <optional>

#include "audio/byte_input.h"
#include "audio/source.h"

namespace verbatim {

struct WavHeader {
  std::int32_t sample_rate_hz = 0;
  std::int32_t channels = 0;
  SampleFormat format = SampleFormat::kS16;
  std::size_t frame_bytes = 0;
  std::optional<std::uint64_t> data_bytes;  // that are there; nothing: until the pipe ends
  bool truncated = false;                   // the header promises more than there is
};

// Leaves `input` at the first sample. Nothing: a WAV whose coding (ADPCM, GSM, ...) is not PCM.
// Throws kCorrupt or kUnsupported naming the file, the field, what was found and expected.
std::optional<WavHeader> read_wav_header(ByteInput& input);

}  // namespace verbatim
