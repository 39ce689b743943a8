// The flags of a live model's session, shared by transcribe, stream and mic.
#pragma once

#include <string>

#include "cli/flags.h"
#include "transcript/options.h"

namespace verbatim {

struct LiveFlags {
  std::string delay_ms;
  std::string eos = "go-on";
  std::string blank_rut = "8";
};

// Behind a section() of the caller's.
void declare(Flags& flags, LiveFlags& to);

// Throws kInvalidArgument naming the flag, what was found and what is allowed.
void apply(const LiveFlags& flags, SessionOptions& to);

}  // namespace verbatim
