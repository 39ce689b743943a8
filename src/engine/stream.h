// A client's end of a session; thread-safe. The mailbox between a client and the replica's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "transcript/event.h"

namespace verbatim {

class Slot;
struct Mailbox;

// Where a session's time went; wall seconds of the passes it took part in.
struct SessionStats {
  double encode_s = 0;
  double prefill_s = 0;
  double decode_s = 0;
  std::int64_t audio_frames = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<Mailbox> mailbox);
  // Cancels what has not finished: the slot is free by the next tick.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Mono samples at the model's rate. Blocks while the mailbox is full, until somebody stops the
  // stream at latest; throws what the session failed with.
  void push(std::span<const float> pcm);
  // The same for audio that will not wait, a microphone's: never blocks, whatever waits already.
  void push_live(std::span<const float> pcm);
  void finish();
  void stop();  // ends early and still delivers: Done carries what was recognised and a warning
  // The source failed: the stream ends with Failed.
  void fail_with(Code code, const std::string& message);
  // A warning about the audio itself (NaN samples, a cut file); it becomes part of the transcript.
  // Call before finish().
  void warn(const Warning& warning);
  // Empty on time-out and after the last event (Done or Failed).
  std::optional<Event> next(std::chrono::milliseconds wait);
  // Called once per arrival on the engine's thread; it must only post. No call is under way or
  // comes once this has set another, or the stream is gone.
  void on_ready(std::function<void()> wake);
  SessionStats stats() const;

 private:
  std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace verbatim
