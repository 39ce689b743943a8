// Where audio comes from: files, a pipe, another program's decoder. A source yields mono samples at
// the rate that was asked for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

enum class SampleFormat : std::uint8_t { kU8, kS16, kS24, kS32, kF32, kF64, kALaw, kMuLaw };

// "s16le" and its like, as --sample-format spells them; throws kInvalidArgument listing the names.
SampleFormat sample_format(std::string_view name);

// Headerless PCM, interleaved and little-endian. A rate of 0 means that "-" carries a file.
struct RawFormat {
  std::int32_t sample_rate_hz = 0;
  SampleFormat format = SampleFormat::kS16;
  std::int32_t channels = 1;
};

// What ends a decoder that will not end by itself.
struct AudioLimits {
  double audio_s = 86400;          // of decoded audio
  std::int64_t decoded_bytes = 0;  // from the helper program, before channels are mixed; 0: none
  double stall_s = 60;             // without a byte from the helper program
};

struct AudioRequest {
  std::string what;                 // a path, or "-" for stdin
  std::int32_t sample_rate_hz = 0;  // 0: the file's own
  std::int32_t channel = -1;        // -1: the mean
  double start_s = 0;
  double duration_s = 0;  // 0: all
  RawFormat raw;          // for "-"
  std::string ffmpeg;     // the binary; empty: none
  AudioLimits limits;
  int file = -1;  // an open descriptor to read instead of `what`, which then is only its name
  // Not null: live audio, which may last for ever. A read delivers what is there at once. Once this
  // is set or the program is interrupted, the audio ends behind what has arrived by then, though
  // the pipe may say more. It must outlive the source.
  const std::atomic<bool>* live_end = nullptr;
};

// Something odd that did not stop the reading. Codes, which live as long as the program:
// "audio_truncated", "audio_not_finite".
struct AudioNote {
  const char* code = "";
  std::string what;  // one sentence; it does not name the file
};

class AudioSource {
 public:
  virtual ~AudioSource() = default;
  virtual std::int32_t sample_rate_hz() const = 0;  // of what read() gives
  virtual std::int32_t channels() const = 0;        // of the file, before they are mixed
  virtual double duration_s() const = 0;  // of what is delivered; 0: unknown (live, pipes)
  // Fills up to block.size() samples in [-1, 1], the mean of the channels or the one channel asked
  // for; 0 at the end. Live sources block. Throws kCorrupt, kIo, kExhausted or kCancelled. The
  // samples do not depend on the sizes of the blocks.
  virtual std::size_t read(std::span<float> block) = 0;
  // Complete once read() has returned 0.
  virtual std::vector<AudioNote> notes() const = 0;
};

// Recognises the content, whatever the name, and puts the choice of channels, start and duration,
// and the resampler behind the reader. start_s cuts the file before it is resampled, as if it began
// there. Throws kNotFound, kIo, kInvalidArgument, kUnsupported or kCorrupt naming the file.
std::unique_ptr<AudioSource> open_audio(const AudioRequest& request);

// What a file says about itself: its own rate and channels, and the length of all of it (0:
// unknown). Not for "-", which can be read only once. Throws as open_audio does.
struct AudioFacts {
  std::int32_t sample_rate_hz = 0;
  std::int32_t channels = 0;
  double duration_s = 0;
};
AudioFacts audio_facts(const AudioRequest& request);

// The first executable file named ffmpeg in the folders of a PATH-like list; empty when none.
std::string find_ffmpeg(std::string_view path_variable);

}  // namespace verbatim
