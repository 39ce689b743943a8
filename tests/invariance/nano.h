// What the invariance tests share: recordings of the nano checkpoint, an engine that the test ticks
// by itself, and a digest of every tensor that the engine shows.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/trace.h"
#include "engine/engine.h"

namespace verbatim {

constexpr const char* kNano = "models/vibevoice-asr-nano";

// A sample of the checkpoint at its rate, read from its source in blocks of so many samples.
std::vector<float> nano_clip(const std::string& name, std::size_t block_samples = 4096);

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
EngineOptions nano_options();

// Pushes the clip in blocks of so many samples, a tick behind each; does not finish it.
void push_in_blocks(Engine& engine, Stream& stream, std::span<const float> clip,
                    std::size_t block_samples);
// The transcript of a stream that has ended, down to its token ids, as text to compare; or what it
// failed with.
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
