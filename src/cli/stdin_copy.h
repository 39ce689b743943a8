// Stdin in an unnamed file: its length is then known, and it can be read once per channel.
#pragma once

#include <cstdint>
#include <functional>

namespace verbatim {

class StdinCopy {
 public:
  StdinCopy();  // empty; throws kIo when no file can be made
  ~StdinCopy();
  StdinCopy(const StdinCopy&) = delete;
  StdinCopy& operator=(const StdinCopy&) = delete;

  // Reads stdin to its end; `progress` hears how many bytes there are so far. Throws kIo (also when
  // stdin is a terminal or the disk is full), kCancelled when interrupted.
  void fill(const std::function<void(std::int64_t)>& progress);
  int file() const { return file_; }  // an open descriptor, ours

 private:
  int file_ = -1;
};

}  // namespace verbatim
