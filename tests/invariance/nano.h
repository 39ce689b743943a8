// What the invariance tests share: recordings of the nano checkpoints, an engine that the test
// ticks by itself, and a digest of every tensor that the engine shows.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/trace.h"
#include "engine/engine.h"

namespace verbatim {

// A bundled checkpoint, one of its recordings, and what is said there.
struct Nano {
  std::string_view folder;
  std::int32_t sample_rate_hz;
  const char* clip;
  const char* words;
  std::size_t samples(double seconds) const {
    return static_cast<std::size_t>(seconds * sample_rate_hz + 0.5);
  }
};
constexpr Nano kVibeVoiceNano{"models/vibevoice-asr-nano", 24000, "nato-slt", "alpha bravo"};
constexpr Nano kVoxtralNano{"models/voxtral-realtime-nano", 16000, "s5_espeak_steph",
                            "three five today"};
inline std::ostream& operator<<(std::ostream& to, const Nano& nano) {
  return to << nano.folder;
}

// A sample of the checkpoint at its rate, read from its source in blocks of so many samples.
std::vector<float> nano_clip(const Nano& nano, const std::string& name,
                             std::size_t block_samples = 4096);
inline std::vector<float> nano_clip(const Nano& nano) {
  return nano_clip(nano, nano.clip);
}

// Every named tensor's bytes in the order of their rows, as one number per name. Rows of a decode
// step count under a name of their own, as in a dump.
class DigestTap final : public Tap {
 public:
  bool wants(std::string_view) const override { return true; }
  void see(std::string_view name, const Tensor& rows, const Spans& spans) override;
  const std::map<std::string, std::uint64_t, std::less<>>& digests() const { return digests_; }

 private:
  std::map<std::string, std::uint64_t, std::less<>> digests_;
};

// The first name under which two digests differ, or that only one of them has; empty: none.
std::string first_difference(const DigestTap& a, const DigestTap& b);

// One thread, no pinning, ticked by the caller, KV in float32.
EngineOptions nano_options(const Nano& nano);

// Pushes the clip in blocks of so many samples, a tick behind each; does not finish it.
void push_in_blocks(Engine& engine, Stream& stream, std::span<const float> clip,
                    std::size_t block_samples);
// The transcript of a stream that has ended, down to its token ids, and the pieces and words that
// it posted on the way, as text to compare; or what it failed with.
std::string answer(Stream& stream);
// One clip from beginning to end.
std::string transcribe(Engine& engine, const SessionOptions& options, std::span<const float> clip,
                       std::size_t block_samples = 1 << 16);

// The same with every tensor looked at.
struct TappedRun {
  DigestTap tap;
  std::string transcript;
};
TappedRun tapped_run(EngineOptions options, std::span<const float> clip,
                     std::size_t block_samples = 1 << 16);

}  // namespace verbatim
