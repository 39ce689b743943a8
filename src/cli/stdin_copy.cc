// Copies stdin to a file that nothing is left of, noticing an interrupt while a pipe says nothing.
#include "cli/stdin_copy.h"

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
int unnamed_file() {
  for (const char* const folder : {"/var/tmp", "/tmp"}) {
    const int file = open_unnamed(folder);
    if (file >= 0) return file;
  }
  fail(Code::kIo, "/var/tmp: no temporary file can be made for stdin: %s",
       system_message(errno).c_str());
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
    if (size < 0) fail(Code::kIo, "stdin: cannot be read: %s", system_message(errno).c_str());
    if (size == 0) return;
    const int error = write_all(file_, {block.data(), static_cast<std::size_t>(size)});
    if (error != 0)
      fail(Code::kIo, "stdin: its copy cannot grow: %s", system_message(error).c_str());
    total += size;
    progress(total);
  }
}

}  // namespace verbatim
