// Says when the text falls behind the audio: once it begins, each time it has doubled, and when it
// has ended. Decisions are told of about once per second of audio, and those of a file that is
// read as fast as it can be are never late.
#pragma once

#include <optional>

#include "cli/live_output.h"

namespace verbatim {

class LagMeter {
 public:
  // heard_s: audio decided so far, as just told; arrived_s: audio that was there by then.
  std::optional<Lag> hears(double heard_s, double arrived_s);
  // Nothing was told for a while.
  std::optional<Lag> waits(double arrived_s);

 private:
  std::optional<Lag> judge(double behind_s);

  double heard_s_ = 0;
  double said_s_ = 0;  // 0: it keeps up
};

}  // namespace verbatim
