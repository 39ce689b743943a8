// Temporary names, space that is taken beforehand, and the rename at the end.
#include "base/atomic_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

constexpr int kTemporaryNames = 100;
constexpr std::size_t kPart = std::size_t{8} << 20;  // between two looks at the interrupt flag

[[noreturn]] void fail_writing(const std::string& path, int error) {
  fail(Code::kIo, "%s: cannot be written: %s", path.c_str(), system_message(error).c_str());
}

// What a folder lists is on the disk; 0, or the error number.
int sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return errno;
  // Some file systems know no such thing of folders.
  return ::fsync(folder.get()) == 0 || errno == EINVAL ? 0 : errno;
}

void check_new(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (error && status.type() != fs::file_type::not_found) fail_writing(path, error.value());
    if (!fs::is_symlink(path, error)) return;
    fail(Code::kInvalidArgument,
         "%s: expected a new folder or an empty one, found a link to nothing", path.c_str());
  }
  const bool is_empty = fs::is_directory(status) && fs::is_empty(path, error) && !error;
  if (is_empty) return;
  fail(Code::kInvalidArgument, "%s: expected a new folder or an empty one, found %s", path.c_str(),
       fs::is_directory(status) ? "one with files in it" : "a file");
}

// A disk's own root takes no other folder's place.
void check_same_disk(const std::string& path, const std::string& parent) {
  struct stat about {
  }, above{};
  if (::stat(path.c_str(), &about) != 0 || ::stat(parent.c_str(), &above) != 0) return;
  if (about.st_dev == above.st_dev) return;
  fail(Code::kInvalidArgument, "%s: expected a folder of its own, found where a disk is mounted",
       path.c_str());
}

}  // namespace

AtomicFolder::AtomicFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  check_new(path_);
  std::error_code error;
  // Through a symbolic link: the rename replaces what it points to, not the link.
  fs::path target = fs::weakly_canonical(fs::absolute(path_), error);
  if (error) fail_writing(path_, error.value());
  path_ = fs::is_symlink(path_, error) ? target.string() : path_;
  parent_ = target.parent_path().string();
  if (!fs::is_directory(parent_, error)) {
    fail(Code::kNotFound, "%s: cannot be made: there is no folder %s", path_.c_str(),
         parent_.c_str());
  }
  check_same_disk(path_, parent_);
  for (int attempt = 0; attempt < kTemporaryNames; ++attempt) {
    std::string name = formatted("%s/.verbatim-%d-%d.part", parent_.c_str(),
                                 static_cast<int>(::getpid()), attempt);
    if (::mkdir(name.c_str(), 0777) == 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_writing(path_, errno);
}

AtomicFolder::~AtomicFolder() {
  std::error_code error;
  if (!temporary_.empty()) fs::remove_all(temporary_, error);
}

std::string AtomicFolder::inside(std::string_view file) const {
  return (fs::path(temporary_) / file).string();
}

std::uint64_t AtomicFolder::free_bytes() const {
  std::error_code error;
  const fs::space_info space = fs::space(temporary_, error);
  if (error) fail_writing(path_, error.value());
  return space.available;
}

void AtomicFolder::commit() {
  check(!temporary_.empty(), "a folder is committed once");
  int error = sync_folder(temporary_);
  if (error == 0 && ::rename(temporary_.c_str(), path_.c_str()) != 0) error = errno;
  if (error != 0) fail_writing(path_, error);
  temporary_.clear();
  // The folder is there and whole; whether its name outlives a power failure is the disk's.
  (void)sync_folder(parent_);
}

SizedFile::SizedFile(const AtomicFolder& folder, const std::string& file, std::uint64_t bytes)
    : shown_((fs::path(folder.path()) / file).string()), size_(bytes) {
  file_.reset(::open(folder.inside(file).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_.is_open()) fail_writing(shown_, errno);
  if (bytes == 0) return;
  int error = 0;
  do {
    error = ::fallocate(file_.get(), 0, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (error == EINTR && !is_interrupted());
  if (error == EINTR) fail(Code::kCancelled, "%s: interrupted while it was made", shown_.c_str());
  if (error == EOPNOTSUPP || error == ENOSYS)
    error = ::ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error != 0) {
    fail(Code::kIo, "%s: no room for its %llu bytes: %s", shown_.c_str(),
         static_cast<unsigned long long>(bytes), system_message(error).c_str());
  }
}

void SizedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  check(file_.is_open(), "a file is written before it is closed");
  check(offset <= size_ && bytes.size() <= size_ - offset,
        "a file grows no larger than it was made");
  while (!bytes.empty()) {
    if (is_interrupted())
      fail(Code::kCancelled, "%s: interrupted while it was written", shown_.c_str());
    const std::size_t part = std::min(bytes.size(), kPart);
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), part, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(shown_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void SizedFile::close() {
  check(file_.is_open(), "a file is closed once");
  int error = ::fsync(file_.get()) == 0 ? 0 : errno;
  // Network file systems report a full disk here.
  if (::close(file_.release()) != 0 && error == 0) error = errno;
  if (error != 0) fail_writing(shown_, error);
}

}  // namespace verbatim
