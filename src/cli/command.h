// What the program can do: one constant struct per command, listed in main.cc.
#pragma once

#include <span>

namespace verbatim {

struct Command {
  const char* name;
  const char* summary;
  // Arguments behind the command's name; returns the exit code. Throws Error.
  int (*run)(std::span<const char* const> arguments);
};

extern const Command kTranscribeCommand;
extern const Command kStreamCommand;
extern const Command kMicCommand;
extern const Command kCalibrateCommand;
extern const Command kInfoCommand;
extern const Command kDevicesCommand;
extern const Command kQuantizeCommand;

}  // namespace verbatim
