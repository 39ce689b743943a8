// Copies stdin to a file that nothing is left of, noticing an interrupt while a pipe says nothing.
#include "cli/stdin_copy.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"

namespace verbatim {
namespace {

constexpr int kInterruptPollMs = 100;
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

std::string reason(int error) {
  return std::generic_category().message(error);
}

// In /var/tmp before /tmp: the latter is often memory.
int unnamed_file() {
  for (const char* const folder : {"/var/tmp", "/tmp"}) {
    int file = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    // Not every file system has unnamed files: name one and take the name away at once.
    std::string name = std::string(folder) + "/verbatim-XXXXXX";
    file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) continue;
    ::unlink(name.c_str());
    return file;
  }
  fail(Code::kIo, "/var/tmp: no temporary file can be made for stdin: %s", reason(errno).c_str());
}

void append(int file, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR && !is_interrupted()) continue;
    if (written < 0) fail(Code::kIo, "stdin: its copy cannot grow: %s", reason(errno).c_str());
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

StdinCopy::StdinCopy() : file_(unnamed_file()) {}

StdinCopy::~StdinCopy() {
  ::close(file_);
}

void StdinCopy::fill(const std::function<void(std::int64_t)>& progress) {
  if (::isatty(STDIN_FILENO) == 1)
    fail(Code::kIo, "stdin: expected audio from a pipe or a file, found a terminal");
  std::vector<char> block(kBlockBytes);
  std::int64_t total = 0;
  for (;;) {
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kInterruptPollMs);
    if (is_interrupted()) fail(Code::kCancelled, "stdin: interrupted while it was read");
    if (ready <= 0) continue;
    const ssize_t size = ::read(STDIN_FILENO, block.data(), block.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size < 0) fail(Code::kIo, "stdin: cannot be read: %s", reason(errno).c_str());
    if (size == 0) return;
    append(file_, block.data(), static_cast<std::size_t>(size));
    total += size;
    progress(total);
  }
}

}  // namespace verbatim
