// The files that a run writes: none of them twice, and none that it reads.
#pragma once

#include <map>
#include <span>
#include <string>

#include "cli/inputs.h"

namespace verbatim {

class Targets {
 public:
  explicit Targets(std::span<const Input> inputs);

  // Throws kInvalidArgument where the path leads to a recording or to what was added before.
  // Devices and pipes may be written by many.
  void add(const char* flag, const std::string& path);

 private:
  std::map<std::string, std::string> owners_;  // what a file is told by, and what has it
};

}  // namespace verbatim
