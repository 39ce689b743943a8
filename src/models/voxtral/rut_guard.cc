// A pause ends a stretch; each vain attempt doubles the patience, up to sixteen times, so that
// music which passes for speech costs little.
#include "models/voxtral/rut_guard.h"

#include <algorithm>
#include <cmath>

namespace verbatim::voxtral {
namespace {

constexpr double kPauseS = 2;
constexpr std::int64_t kMostPatience = 16;

}  // namespace

RutGuard::RutGuard(double limit_s, double token_s)
    : first_limit_(limit_s > 0 ? std::max<std::int64_t>(1, std::llround(limit_s / token_s)) : 0),
      limit_(first_limit_),
      most_quiet_(std::llround(kPauseS / token_s)) {}

std::int64_t RutGuard::hear(std::int64_t heard, bool is_speech, bool is_text) {
  if (limit_ == 0) return -1;
  if (is_text) {
    speech_ = 0;
    limit_ = first_limit_;
  }
  if (heard <= furthest_) return -1;
  furthest_ = heard;
  if (is_text) return -1;
  if (!is_speech) {
    if (++quiet_ > most_quiet_) speech_ = 0;
    return -1;
  }
  quiet_ = 0;
  if (speech_++ == 0) first_ = heard;
  if (speech_ <= limit_) return -1;
  speech_ = 0;
  limit_ = std::min(2 * limit_, kMostPatience * first_limit_);
  return first_;
}

}  // namespace verbatim::voxtral
