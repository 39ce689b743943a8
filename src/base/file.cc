// Files on Linux: mmap, O_TMPFILE and rename, with errors that name the path.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace verbatim {
namespace {

constexpr int kTemporaryNames = 100;

Code code_of(int error) {
  return error == ENOENT || error == ENOTDIR ? Code::kNotFound : Code::kIo;
}

// Opening a FIFO waits for its other end: an interrupt ends that wait.
int open_waiting(const std::string& path, int flags, mode_t mode = 0) {
  for (;;) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (file >= 0 || errno != EINTR) return file;
    if (is_interrupted()) fail(Code::kCancelled, "%s: interrupted while opening it", path.c_str());
  }
}

// 0, or the error number: EINTR when the user interrupts. `offset` < 0 writes at the file's own
// position.
int write_until_interrupted(int file, std::string_view bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = offset < 0 ? ::write(file, bytes.data(), bytes.size())
                                       : ::pwrite(file, bytes.data(), bytes.size(), offset);
    if (written < 0) {
      if (errno == EINTR && !is_interrupted()) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    if (offset >= 0) offset += written;
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The open descriptor that a path such as /dev/stdout stands for, or -1.
int descriptor_named(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.compare(0, folder.size(), folder) != 0) continue;
    const std::string number = path.substr(folder.size());
    if (number.empty() || number.size() > 6) return -1;
    if (number.find_first_not_of("0123456789") != std::string::npos) return -1;
    return std::atoi(number.c_str());
  }
  return -1;
}

}  // namespace

Descriptor open_to_read(const std::string& path) {
  Descriptor file(open_waiting(path, O_RDONLY));
  if (!file.is_open()) {
    const int error = errno;
    fail(code_of(error), "%s: cannot be opened: %s", path.c_str(), system_message(error).c_str());
  }
  return file;
}

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const Descriptor file = open_to_read(path);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) {
    fail(Code::kIo, "%s: cannot be examined: %s", path.c_str(), system_message(errno).c_str());
  }
  if (!S_ISREG(about.st_mode)) {
    fail(Code::kIo, "%s: expected a regular file, found %s", path.c_str(),
         S_ISDIR(about.st_mode) ? "a folder" : "a device or pipe");
  }
  size_ = static_cast<std::size_t>(about.st_size);
  if (size_ == 0) return;
  void* const data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) {
    fail(Code::kIo, "%s: cannot be mapped (%zu bytes): %s", path.c_str(), size_,
         system_message(errno).c_str());
  }
  data_ = static_cast<std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  check(part.data() >= data_ && part.data() + part.size() <= data_ + size_,
        "the released bytes are the file's own");
  // Whole pages only; the last page of the file has nothing else in it.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = static_cast<std::size_t>(part.data() - data_);
  const std::size_t end = begin + part.size();
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = end == size_ ? size_ : end / page * page;
  // Advice: a kernel that refuses it keeps the pages until it needs them.
  if (first < last) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

std::string read_file(const std::string& path, std::size_t limit_bytes) {
  const Descriptor file = open_to_read(path);
  std::string bytes;
  struct stat about {};
  if (::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode)) {
    const auto size = static_cast<std::size_t>(about.st_size);
    if (size > limit_bytes) {
      fail(Code::kCorrupt, "%s: expected at most %zu bytes, found %zu", path.c_str(), limit_bytes,
           size);
    }
    bytes.reserve(size + 1);
  }
  char part[65536];
  for (;;) {
    const ssize_t size = ::read(file.get(), part, sizeof part);
    if (size == 0) return bytes;
    if (size < 0) {
      if (errno == EINTR && !is_interrupted()) continue;
      if (errno == EINTR) fail(Code::kCancelled, "%s: interrupted while it was read", path.c_str());
      fail(Code::kIo, "%s: cannot be read: %s", path.c_str(), system_message(errno).c_str());
    }
    bytes.append(part, static_cast<std::size_t>(size));
    if (bytes.size() > limit_bytes) {
      fail(Code::kCorrupt, "%s: expected at most %zu bytes, found more", path.c_str(), limit_bytes);
    }
  }
}

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string default_spool_folder() {
  return ::access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
}

Descriptor open_unnamed(const std::string& folder) {
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (file.is_open()) return file;
  // Not every file system has unnamed files: name one and take the name away at once.
  std::string name = folder + "/verbatim-XXXXXX";
  file.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (file.is_open()) ::unlink(name.c_str());
  return file;
}

SpooledFile::SpooledFile(std::size_t in_memory, std::string folder)
    : in_memory_(in_memory), folder_(folder.empty() ? default_spool_folder() : std::move(folder)) {}

void SpooledFile::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::string_view chars(static_cast<const char*>(static_cast<const void*>(bytes.data())),
                               bytes.size());
  if (!file_.is_open() && bytes.size() <= in_memory_ - head_.size()) {
    head_.append(chars);
    size_ += bytes.size();
    return;
  }
  if (!file_.is_open()) spill();
  const std::uint64_t grown = size_ + bytes.size();
  const int error =
      write_until_interrupted(file_.get(), chars, static_cast<std::int64_t>(size_ - head_.size()));
  if (error != 0) {
    fail(Code::kIo, "%s: a temporary file cannot grow to %llu bytes: %s", folder_.c_str(),
         static_cast<unsigned long long>(grown), system_message(error).c_str());
  }
  size_ = grown;
}

// Opens the file for what does not fit; what is in memory stays there.
void SpooledFile::spill() {
  file_ = open_unnamed(folder_);
  if (file_.is_open()) return;
  fail(Code::kIo, "%s: no temporary file can be made here: %s", folder_.c_str(),
       system_message(errno).c_str());
}

void SpooledFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  check(offset <= size_ && to.size() <= size_ - offset, "only what was appended is read");
  if (offset < head_.size()) {
    const std::size_t near = std::min<std::size_t>(to.size(), head_.size() - offset);
    std::memcpy(to.data(), head_.data() + offset, near);
    to = to.subspan(near);
    offset += near;
  }
  while (!to.empty()) {
    const ssize_t size =
        ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset - head_.size()));
    if (size < 0 && errno == EINTR && !is_interrupted()) continue;
    if (size <= 0) {
      fail(Code::kIo, "%s: a temporary file cannot be read at %llu: %s", folder_.c_str(),
           static_cast<unsigned long long>(offset),
           size == 0 ? "it ends early" : system_message(errno).c_str());
    }
    to = to.subspan(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const int named = descriptor_named(path_);
  struct stat about {};
  const bool exists = ::stat(path_.c_str(), &about) == 0;
  if (exists && S_ISDIR(about.st_mode)) {
    fail(Code::kIo, "%s: expected a file to write, found a folder", path_.c_str());
  }
  if (exists && S_ISREG(about.st_mode) && ::access(path_.c_str(), W_OK) != 0) {
    fail(Code::kIo, "%s: cannot be written: %s", path_.c_str(), system_message(errno).c_str());
  }
  if (named >= 0) {
    // A new opening of a redirected stdout would write over what is there already.
    file_ = ::fcntl(named, F_DUPFD_CLOEXEC, 0);
  } else if (exists && !S_ISREG(about.st_mode)) {
    file_ = open_waiting(path_, O_WRONLY);
  } else {
    open_beside(exists ? static_cast<int>(about.st_mode & 07777) : -1);
  }
  if (file_ < 0) {
    const int error = errno;
    fail(Code::kIo, "%s: cannot be written: %s", path_.c_str(), system_message(error).c_str());
  }
}

// Leaves file_ negative and errno set when there is no way.
void AtomicFile::open_beside(int mode) {
  // Through symbolic links: the rename replaces what the link points to, not the link.
  if (char* const real = ::realpath(path_.c_str(), nullptr); real != nullptr) {
    target_ = real;
    std::free(real);
  } else {
    target_ = path_;
  }
  for (int attempt = 0; attempt < kTemporaryNames; ++attempt) {
    std::string name = formatted("%s/.verbatim-%d-%d.part", folder_of(target_).c_str(),
                                 static_cast<int>(::getpid()), attempt);
    file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno == EEXIST) continue;
    if (file_ >= 0) temporary_ = std::move(name);
    break;
  }
  // A refusal leaves the mode of a new file, which is no narrower than the umask wants.
  if (file_ >= 0 && mode >= 0 && ::fchmod(file_, static_cast<mode_t>(mode)) != 0) {
    log(Level::kDebug, "%s: its mode cannot be kept", path_.c_str());
  }
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  check(file_ >= 0, "a file is written before its commit");
  const int error = write_until_interrupted(file_, bytes, -1);
  if (error == EINTR) fail(Code::kCancelled, "%s: interrupted while it was written", path_.c_str());
  if (error != 0)
    fail(Code::kIo, "%s: cannot be written: %s", path_.c_str(), system_message(error).c_str());
}

void AtomicFile::commit() {
  check(file_ >= 0, "a file is committed once");
  // Network file systems report a full disk here.
  int error = ::close(std::exchange(file_, -1)) == 0 ? 0 : errno;
  if (error == 0 && !temporary_.empty()) {
    error = ::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  }
  if (error != 0)
    fail(Code::kIo, "%s: cannot be written: %s", path_.c_str(), system_message(error).c_str());
  temporary_.clear();
}

}  // namespace verbatim
