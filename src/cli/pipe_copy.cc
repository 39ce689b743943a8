// Copies a pipe to a file that nothing is left of, noticing an interrupt while the pipe says
// nothing.
#include "cli/pipe_copy.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"

namespace verbatim {
namespace {

constexpr int kInterruptPollMs = 100;
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

// In /var/tmp before /tmp: the latter is often memory.
int unnamed_file(const std::string& name) {
  for (const char* const folder : {"/var/tmp", "/tmp"}) {
    const int file = open_unnamed(folder);
    if (file >= 0) return file;
  }
  fail(Code::kIo, "/var/tmp: no temporary file can be made for %s: %s", name.c_str(),
       system_message(errno).c_str());
}

}  // namespace

PipeCopy::PipeCopy(const std::string& path)
    : is_stdin_(path == "-"), name_(is_stdin_ ? "stdin" : path), file_(unnamed_file(name_)) {}

PipeCopy::~PipeCopy() {
  if (pipe_ >= 0) ::close(pipe_);
  ::close(file_);
}

void PipeCopy::fill(const std::function<void(std::int64_t)>& progress) {
  const char* const name = name_.c_str();
  if (!is_stdin_) pipe_ = open_to_read(name_);
  const int pipe = is_stdin_ ? STDIN_FILENO : pipe_;
  if (::isatty(pipe) == 1)
    fail(Code::kIo, "%s: expected audio from a pipe or a file, found a terminal", name);
  std::vector<char> block(kBlockBytes);
  std::int64_t total = 0;
  for (;;) {
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kInterruptPollMs);
    if (is_interrupted()) fail(Code::kCancelled, "%s: interrupted while it was read", name);
    if (ready <= 0) continue;
    const ssize_t size = ::read(pipe, block.data(), block.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size < 0) fail(Code::kIo, "%s: cannot be read: %s", name, system_message(errno).c_str());
    if (size == 0) return;
    const int error = write_all(file_, {block.data(), static_cast<std::size_t>(size)});
    if (error != 0)
      fail(Code::kIo, "%s: its copy cannot grow: %s", name, system_message(error).c_str());
    total += size;
    progress(total);
  }
}

}  // namespace verbatim
