// Hears one utterance after the other while recording goes on, for models that are not live.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "audio/source.h"
#include "cli/live_output.h"
#include "cli/utterances.h"
#include "engine/stream.h"

namespace verbatim {

// Between the thread that records and the one that follows. Thread-safe.
class UtteranceQueue {
 public:
  explicit UtteranceQueue(std::int32_t sample_rate_hz) : rate_hz_(sample_rate_hz) {}

  // Waits while ten minutes of speech are waiting, so that memory does not grow for ever behind a
  // model that will never catch up.
  void put(Utterance utterance);
  void warn(const Warning& warning);
  void close();  // nothing comes any more, and nobody waits

  struct Next {
    std::optional<Utterance> utterance;
    std::vector<Warning> warnings;
    double waiting_s = 0;  // of speech that is still in the queue
    bool is_over = false;  // closed, and all has been taken
  };
  Next next(std::chrono::milliseconds wait);

 private:
  double rate_hz_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Utterance> utterances_;
  std::vector<Warning> warnings_;
  std::int64_t waiting_samples_ = 0;
  bool is_closed_ = false;
};

struct UtteranceRun {
  std::unique_ptr<AudioSource> source;
  std::atomic<bool>* end = nullptr;  // tells the source to end
  double max_utterance_s = 30;
  std::function<std::unique_ptr<Stream>(double audio_s)> open;  // a session for one utterance
};

// Records on a thread of its own until the source ends, which the first interrupt tells it, and
// writes the segments of each utterance as they are done, in the times of the recording. Whoever
// warns of the source puts it into the queue. Returns all that was said, whose end has not been
// written. Throws what the source or a session failed with.
Transcript follow_utterances(UtteranceRun run, UtteranceQueue& queue, LiveOutput& output);

}  // namespace verbatim
