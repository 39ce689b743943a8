// What a live session is asked for.
#include "cli/live_flags.h"

#include <cstdint>

#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::int32_t kDelayStepMs = 80;
constexpr std::int32_t kMostDelayMs = 2400;

std::int32_t parse_delay_ms(const std::string& text) {
  std::string allowed;
  for (std::int32_t ms = kDelayStepMs; ms <= kMostDelayMs; ms += kDelayStepMs) {
    if (text == std::to_string(ms)) return ms;
    append_listed(allowed, std::to_string(ms));
  }
  fail(Code::kInvalidArgument, "--delay-ms: expected one of %s, found '%s'", allowed.c_str(),
       text.c_str());
}

// 0: off.
double parse_blank_rut_s(const std::string& text) {
  if (text == "off") return 0;
  const double seconds = parse_seconds("--blank-rut", text);
  if (seconds < 1)
    fail(Code::kInvalidArgument, "--blank-rut: expected at least 1 s or off, found '%s'",
         text.c_str());
  return seconds;
}

}  // namespace

void declare(Flags& flags, LiveFlags& to) {
  flags.text(to.delay_ms, "--delay-ms", "MS",
             "How far behind the audio Voxtral decides: a multiple of 80 from 80 to 2400. More "
             "delay, fewer errors. Without it as the checkpoint says.");
  flags.choice(to.eos, "--eos", {"go-on", "stop"},
               "What Voxtral's end token does: go-on hears all the audio, stop ends there, as the "
               "reference does with files.");
  flags.text(to.blank_rut, "--blank-rut", "SECONDS|off",
             "Speech without a word for longer than this is heard again from a fresh context, and "
             "reported.");
}

void apply(const LiveFlags& flags, SessionOptions& to) {
  if (!flags.delay_ms.empty()) to.delay_ms = parse_delay_ms(flags.delay_ms);
  to.stop_at_eos = flags.eos == "stop";
  to.blank_rut_s = parse_blank_rut_s(flags.blank_rut);
}

}  // namespace verbatim
