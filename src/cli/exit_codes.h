// How the program's end tells what became of the work.
#pragma once

#include "base/error.h"

namespace verbatim {

inline constexpr int kExitWhole = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitWarned = 3;  // delivered, and a warning says what to doubt
inline constexpr int kExitInterrupted = 130;

constexpr int exit_code(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return kExitUsage;
    case Code::kCancelled:
      return kExitInterrupted;
    case Code::kNotFound:
    case Code::kUnsupported:
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kExhausted:
    case Code::kDevice:
    case Code::kInternal:
      break;
  }
  return kExitFailed;
}

}  // namespace verbatim
