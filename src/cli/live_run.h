// Follows a live stream to its end: events to the output, Ctrl-C to the source, lag to both.
#pragma once

#include <functional>

#include "cli/live_output.h"
#include "engine/stream.h"

namespace verbatim {

// Whoever brings the audio (a LivePump).
struct LiveFeed {
  std::function<double()> arrived_s;    // audio pushed so far; empty: it waits for the stream
  std::function<void(double)> heard_s;  // told how much of it has been decided; may be empty
  std::function<void()> end;            // no more: the stream is finished with what has arrived
};

// Reads events until the stream has ended and writes them. The first interrupt ends the feed; what
// has arrived is still heard. Returns the transcript, whose end has not been written: output.end()
// is the caller's. Throws what the stream failed with.
Transcript follow_live(Stream& stream, const LiveFeed& feed, LiveOutput& output);

// 0, or 3 with warnings: a user who ends a live stream got all there was.
int live_exit_code(const Transcript& transcript);

}  // namespace verbatim
