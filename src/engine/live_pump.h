// Carries a live source into a stream on a thread of its own: what arrives is pushed at once, and
// the end comes when the source ends or is told to.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "audio/source.h"
#include "engine/stream.h"

namespace verbatim {

class LivePump {
 public:
  // waits: the source is in no hurry (a file), and each block waits for room in the stream. One
  // that does not must watch `end` itself (AudioRequest::live_end, paced(), a microphone): it gives
  // what has arrived by then, and ends. `end` must outlive this.
  LivePump(std::unique_ptr<AudioSource> source, Stream& stream, std::atomic<bool>& end, bool waits);
  // Joins; what has not been read is given up.
  ~LivePump();
  LivePump(const LivePump&) = delete;
  LivePump& operator=(const LivePump&) = delete;

  // Any thread.
  void end() { end_ = true; }  // finishes the stream with what has been read
  double arrived_s() const;    // audio pushed so far
  void heard_s(double seconds) { heard_s_ = seconds; }  // audio that the session has decided on

 private:
  void carry(AudioSource& source);

  Stream& stream_;
  std::atomic<bool>& end_;
  bool waits_;
  double rate_hz_;
  std::atomic<std::int64_t> samples_{0};
  std::atomic<double> heard_s_{0};
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

}  // namespace verbatim
