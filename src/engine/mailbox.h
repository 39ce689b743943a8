// What a stream and its slot share: audio on its way in, events on their way out. A mailbox is the
// only thing two threads touch.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/stream.h"

namespace verbatim {

// Wakes a replica's loop; it may outlive the replica.
struct Bell {
  std::mutex mutex;
  std::condition_variable rung;
  bool is_rung = false;
  void ring() {
    const std::lock_guard lock(mutex);
    is_rung = true;
    rung.notify_one();
  }
};

struct Mailbox {
  static constexpr std::size_t kPcmSamples = std::size_t{1} << 18;  // before a pusher waits

  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<Bell> bell;
  // From the stream.
  std::vector<float> pcm;
  std::vector<Warning> warnings;
  std::optional<Failed> failed_source;
  bool is_finished = false;
  bool is_stopped = false;
  bool is_cancelled = false;
  // From the slot.
  std::deque<Event> events;
  bool is_over = false;  // Done or Failed is among the events or was taken
  std::optional<Failed> failure;
  SessionStats stats;

  // Held while `wake` runs, and no other lock with it.
  std::mutex wake_mutex;
  std::function<void()> wake;
};

}  // namespace verbatim
