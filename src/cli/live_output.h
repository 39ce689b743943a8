// What `verbatim stream` and `verbatim mic` print while they listen: text as it is decided, or one
// JSON object per line (docs/jsonl.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "transcript/event.h"

namespace verbatim {

// The text has fallen behind the audio that arrived.
struct Lag {
  double behind_s = 0;    // 0: it has caught up
  double position_s = 0;  // of the audio that was heard
};

// Each call ends in at most one write, which is whole lines or a piece of text as it stands.
struct LiveSink {
  std::function<void(std::string_view)> out;      // throws kIo when nobody reads any more
  std::function<void(std::string_view)> message;  // one line for people, without its end
  bool is_one_screen = false;                     // both go to the same terminal
};

// One thread at a time. Times are those of the audio since the beginning.
class LiveOutput {
 public:
  virtual ~LiveOutput() = default;
  virtual void delta(const TextDelta& delta) = 0;
  virtual void word(const Word& word) = 0;
  virtual void segment(const Segment& segment) = 0;
  virtual void warning(const Warning& warning) = 0;
  virtual void lag(const Lag& lag) = 0;
  virtual void end(const Transcript& transcript) = 0;
};

// format: "text" or "jsonl".
std::unique_ptr<LiveOutput> make_live_output(std::string_view format, LiveSink sink);

// The process's own streams.
LiveSink standard_live_sink();

// Hands the event to its call; Progress, Done and Failed are the reader's business.
void write_event(LiveOutput& output, const Event& event);

}  // namespace verbatim
