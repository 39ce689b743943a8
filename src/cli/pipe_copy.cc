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

Descriptor kept(const std::string& name) {
  const std::string folder = default_spool_folder();
  Descriptor file = open_unnamed(folder);
  if (!file.is_open())
    fail(Code::kIo, "%s: no temporary file can be made for %s: %s", folder.c_str(), name.c_str(),
         system_message(errno).c_str());
  return file;
}

}  // namespace

PipeCopy::PipeCopy(const std::string& path)
    : is_stdin_(path == "-"), name_(is_stdin_ ? "stdin" : path), file_(kept(name_)) {}

void PipeCopy::fill(const std::function<void(std::int64_t)>& progress) {
  const char* const name = name_.c_str();
  if (!is_stdin_) pipe_ = open_to_read(name_);
  const int pipe = is_stdin_ ? STDIN_FILENO : pipe_.get();
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
    const int error = write_all(file_.get(), {block.data(), static_cast<std::size_t>(size)});
    if (error != 0)
      fail(Code::kIo, "%s: its copy cannot grow: %s", name, system_message(error).c_str());
    total += size;
    progress(total);
  }
}

}  // namespace verbatim
