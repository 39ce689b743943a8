// Carries an audio source into a stream on a thread of its own. What the source throws becomes the
// stream's end. Where the length was unknown and the model is not live, the caller spools first.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "audio/source.h"
#include "base/file.h"
#include "engine/stream.h"

namespace verbatim {

// All of a source, decoded and resampled, kept in a spooled file: what a session that must know its
// length is opened with.
struct SpooledAudio {
  std::unique_ptr<SpooledFile> pcm;  // float32, mono, at the model's rate
  std::int64_t samples = 0;
  std::vector<AudioNote> notes;
};
// Reads the source to its end. Stops early, with what is there, when `stop` is set.
SpooledAudio spool_audio(AudioSource& source, const std::string& folder,
                         const std::atomic<bool>& stop,
                         std::atomic<std::int64_t>* progress_samples);

class Pump {
 public:
  Pump(std::unique_ptr<AudioSource> source, Stream& stream);
  Pump(SpooledAudio audio, Stream& stream);
  // Joins. A source that has not ended is abandoned where it stands, and its stream stopped.
  ~Pump();

 private:
  Stream& stream_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

}  // namespace verbatim
