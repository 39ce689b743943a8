// Bytes of a file, of memory or of a pipe, read forward through one buffer with a look ahead.
#include "audio/byte_input.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"

namespace verbatim {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{64} << 10;
constexpr int kInterruptPollMs = 100;  // how soon a pipe that says nothing notices Ctrl-C

class FileSupply : public ByteSupply {
 public:
  // owned: nothing, or `file` itself.
  FileSupply(int file, Descriptor owned, std::string name, const std::atomic<bool>* live_end)
      : file_(file), owned_(std::move(owned)), name_(std::move(name)), live_end_(live_end) {
    struct stat status {};
    if (fstat(file_, &status) != 0)
      fail(Code::kIo, "%s: cannot be read: %s", name_.c_str(), system_message(errno).c_str());
    if (S_ISDIR(status.st_mode))
      fail(Code::kInvalidArgument, "%s: is a folder, expected an audio file", name_.c_str());
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  }

  std::size_t read(std::span<std::byte> to) override {
    for (;;) {
      if (!size_ && !wait_for_bytes()) return 0;
      to = to.first(std::min(to.size(), left_));
      const ssize_t count = size_
                                ? pread(file_, to.data(), to.size(), static_cast<off_t>(position_))
                                : ::read(file_, to.data(), to.size());
      if (count >= 0) {
        position_ += static_cast<std::uint64_t>(count);
        if (has_ended_) left_ -= static_cast<std::size_t>(count);
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR && errno != EAGAIN)
        fail(Code::kIo, "%s: reading failed: %s", name_.c_str(), system_message(errno).c_str());
    }
  }
  std::optional<std::uint64_t> size() const override { return size_; }
  void seek(std::uint64_t position) override { position_ = position; }

 private:
  // False: live audio ends here.
  bool wait_for_bytes() {
    pollfd waiting{file_, POLLIN, 0};
    for (;;) {
      if (live_end_ != nullptr && !has_ended_ && (*live_end_ || is_interrupted())) {
        has_ended_ = true;
        left_ = arrived_bytes();
      }
      if (left_ == 0) return false;
      if (poll(&waiting, 1, kInterruptPollMs) > 0) return true;
      if (live_end_ == nullptr && is_interrupted())
        fail(Code::kCancelled, "%s: interrupted", name_.c_str());
    }
  }

  // What a pipe holds, which is bounded; nothing where the system does not tell.
  std::size_t arrived_bytes() const {
    int bytes = 0;
    return ioctl(file_, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }

  int file_;
  Descriptor owned_;
  std::string name_;
  const std::atomic<bool>* live_end_;
  bool has_ended_ = false;
  std::size_t left_ = ~std::size_t{0};  // bytes until a live end
  std::optional<std::uint64_t> size_;
  std::uint64_t position_ = 0;
};

class MemorySupply : public ByteSupply {
 public:
  explicit MemorySupply(std::span<const std::byte> memory) : memory_(memory) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), memory_.size() - position_);
    if (count > 0) std::memcpy(to.data(), memory_.data() + position_, count);
    position_ += count;
    return count;
  }
  std::optional<std::uint64_t> size() const override { return memory_.size(); }
  void seek(std::uint64_t position) override {
    position_ = static_cast<std::size_t>(std::min<std::uint64_t>(position, memory_.size()));
  }

 private:
  std::span<const std::byte> memory_;
  std::size_t position_ = 0;
};

}  // namespace

ByteInput::ByteInput(std::unique_ptr<ByteSupply> supply, std::string name)
    : supply_(std::move(supply)), name_(std::move(name)), window_(kWindowBytes) {}

std::span<const std::byte> ByteInput::peek(std::size_t count) {
  check(count <= window_.size(), "a look ahead fits the window");
  if (last_ - first_ < count) {
    std::memmove(window_.data(), window_.data() + first_, last_ - first_);
    last_ -= first_;
    first_ = 0;
    while (last_ < count) {
      const std::size_t got = supply_->read(std::span(window_).subspan(last_));
      if (got == 0) break;
      last_ += got;
    }
  }
  return {window_.data() + first_, std::min(count, last_ - first_)};
}

std::size_t ByteInput::read(std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::span<const std::byte> ahead = peek(1);
    if (ahead.empty()) break;
    const std::size_t count = std::min(to.size() - done, last_ - first_);
    std::memcpy(to.data() + done, ahead.data(), count);
    first_ += count;
    done += count;
  }
  position_ += done;
  return done;
}

std::size_t ByteInput::read_units(std::span<std::byte> to, std::size_t unit) {
  check(to.size() >= unit, "a unit has room");
  std::size_t count = peek(unit).size();
  if (count == unit) count = std::min(to.size(), last_ - first_) / unit * unit;
  std::memcpy(to.data(), window_.data() + first_, count);
  first_ += count;
  position_ += count;
  return count;
}

std::uint64_t ByteInput::skip(std::uint64_t count) {
  if (const std::optional<std::uint64_t> size = supply_->size()) {
    count = std::min(count, *size - std::min(*size, position_));
    seek(position_ + count);
    return count;
  }
  std::uint64_t done = 0;
  while (done < count && !peek(1).empty()) {
    const auto step =
        static_cast<std::size_t>(std::min<std::uint64_t>(count - done, last_ - first_));
    first_ += step;
    done += step;
  }
  position_ += done;
  return done;
}

void ByteInput::seek(std::uint64_t position) {
  check(supply_->size().has_value(), "only files and memory are sought in");
  if (position >= position_ && position - position_ <= last_ - first_) {
    first_ += static_cast<std::size_t>(position - position_);
  } else {
    supply_->seek(position);
    first_ = last_ = 0;
  }
  position_ = position;
}

std::unique_ptr<ByteInput> open_input(const std::string& path, int file,
                                      const std::atomic<bool>* live_end) {
  Descriptor owned;
  if (file < 0) {
    owned = open_to_read(path);
    file = owned.get();
  }
  return std::make_unique<ByteInput>(
      std::make_unique<FileSupply>(file, std::move(owned), path, live_end), path);
}

std::unique_ptr<ByteInput> memory_input(std::span<const std::byte> memory, std::string name) {
  return std::make_unique<ByteInput>(std::make_unique<MemorySupply>(memory), std::move(name));
}

}  // namespace verbatim
