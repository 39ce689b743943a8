// A pipe's bytes in an unnamed file: their length is then known, and they can be read once to see
// what they are and once per channel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace verbatim {

class PipeCopy {
 public:
  explicit PipeCopy(const std::string& path);  // "-" for stdin. Empty; throws kIo
  ~PipeCopy();
  PipeCopy(const PipeCopy&) = delete;
  PipeCopy& operator=(const PipeCopy&) = delete;

  // Reads the pipe to its end; `progress` hears how many bytes there are so far. Throws kNotFound
  // or kIo (also for a terminal and a full disk), kCancelled when interrupted.
  void fill(const std::function<void(std::int64_t)>& progress);
  const std::string& name() const { return name_; }
  int file() const { return file_; }  // an open descriptor, ours

 private:
  bool is_stdin_;
  std::string name_;
  int pipe_ = -1;
  int file_ = -1;
};

}  // namespace verbatim
