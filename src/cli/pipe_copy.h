// A pipe's bytes in an unnamed file: their length is then known, and they can be read once to see
// what they are and once per channel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/descriptor.h"

namespace verbatim {

class PipeCopy {
 public:
  explicit PipeCopy(const std::string& path);  // "-" for stdin. Empty; throws kIo

  // Reads the pipe to its end; `progress` hears how many bytes there are so far. Throws kNotFound
  // or kIo (also for a terminal and a full disk), kCancelled when interrupted.
  void fill(const std::function<void(std::int64_t)>& progress);
  const std::string& name() const { return name_; }
  int file() const { return file_.get(); }  // an open descriptor, ours

 private:
  bool is_stdin_;
  std::string name_;
  Descriptor pipe_;  // none for stdin
  Descriptor file_;
};

}  // namespace verbatim
