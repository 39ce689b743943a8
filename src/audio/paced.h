// A recording that is read at the speed at which it would be heard.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "audio/source.h"

namespace verbatim {

struct Pace {
  std::function<double()> now_s;        // of a clock that never goes back
  std::function<void(double)> sleep_s;  // returns earlier where something interrupts it
};

// The process's clock.
Pace real_pace();

// Gives blocks of at most 80 ms, each once its last sample would have been heard, and no more once
// `end` is set. The samples are those of `source`.
std::unique_ptr<AudioSource> paced(std::unique_ptr<AudioSource> source, Pace pace,
                                   const std::atomic<bool>& end);

}  // namespace verbatim
