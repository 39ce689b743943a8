// For every period the number of tokens that equal the one a period before.
#include "models/loop_detector.h"

#include <algorithm>

namespace verbatim {

bool LoopDetector::push(std::int32_t token) {
  bool found = false;
  for (std::int32_t p = 1; p <= kLongest && p <= count_ && !found; ++p) {
    std::int32_t& run = run_[static_cast<std::size_t>(p)];
    run = last_[static_cast<std::size_t>((count_ - p) % kLongest)] == token ? run + 1 : 0;
    const std::int32_t times = std::max(6, (96 + p - 1) / p);
    if (run >= p * (times - 1)) {
      period_ = p;
      found = true;
    }
  }
  last_[static_cast<std::size_t>(count_++ % kLongest)] = token;
  return found;
}

}  // namespace verbatim
