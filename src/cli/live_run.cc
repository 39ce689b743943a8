// One thread reads the stream's events; the feed has its own.
#include "cli/live_run.h"

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/exit_codes.h"
#include "cli/lag_meter.h"

namespace verbatim {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late an interrupt may be noticed

}  // namespace

Transcript follow_live(Stream& stream, const LiveFeed& feed, LiveOutput& output) {
  LagMeter meter;
  bool has_ended = false;
  for (;;) {
    if (is_interrupted() && !std::exchange(has_ended, true)) feed.end();
    std::optional<Event> event = stream.next(kWait);
    std::optional<Lag> lag;
    if (!event) {
      if (feed.arrived_s) lag = meter.waits(feed.arrived_s());
    } else if (const auto* progress = std::get_if<Progress>(&*event)) {
      if (feed.heard_s) feed.heard_s(progress->done_s);
      if (feed.arrived_s) lag = meter.hears(progress->done_s, feed.arrived_s());
    } else if (auto* done = std::get_if<Done>(&*event)) {
      return std::move(done->transcript);
    } else if (const auto* failed = std::get_if<Failed>(&*event)) {
      throw Error(failed->code, failed->message);
    } else {
      write_event(output, *event);
    }
    if (lag) output.lag(*lag);
  }
}

int live_exit_code(const Transcript& transcript) {
  return transcript.warnings.empty() ? kExitWhole : kExitWarned;
}

}  // namespace verbatim
