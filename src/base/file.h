// Files: a read-only mapping, a whole small file, an unnamed spool, and an output that appears
// whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace verbatim {

// A read-only private mapping. Throws kNotFound or kIo naming the path.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Tells the kernel that these bytes will not be read again; reading them still works.
  void release(std::span<const std::byte> part) const;

 private:
  std::string path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// To read from. Throws kNotFound, kIo, or kCancelled while the writer of a FIFO is waited for.
[[nodiscard]] Descriptor open_to_read(const std::string& path);

// The whole file; throws kNotFound, kIo, kCancelled while a pipe is waited for, or kCorrupt when it
// is larger than limit_bytes.
std::string read_file(const std::string& path, std::size_t limit_bytes);

// All of the bytes to a descriptor, whatever signals come; 0, or the error number.
[[nodiscard]] int write_all(int file, std::string_view bytes);

// Where what waits for its turn is kept: /var/tmp, or /tmp, which is often memory.
std::string default_spool_folder();

// An unnamed file in the folder, to write and to read, of which nothing is left on the disk once it
// is closed. None, with errno set, where it cannot be made.
[[nodiscard]] Descriptor open_unnamed(const std::string& folder);

// Bytes in memory up to `in_memory` bytes and in an unnamed file behind that: nothing is left on
// the disk after a crash. One thread at a time. Throws kIo (a full disk) naming the folder.
class SpooledFile {
 public:
  explicit SpooledFile(std::size_t in_memory, std::string folder = "");  // "": the default
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  void append(std::span<const std::byte> bytes);
  // Fills `to` from `offset`; all of it must have been appended.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  std::uint64_t size() const { return size_; }

 private:
  void spill();
  std::size_t in_memory_;
  std::string folder_;
  std::string head_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

// Writes to a temporary name beside `path` and renames on commit; without commit nothing is left
// and an older file stays as it was. What is no regular file (a FIFO, /dev/null, /dev/stdout) is
// written directly. Throws kIo naming the path (unwritable, disk full), kCancelled while a FIFO's
// reader is waited for.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  void open_beside(int mode);
  std::string path_;
  std::string target_;     // path_ behind its symbolic links
  std::string temporary_;  // empty when written directly
  int file_ = -1;
};

}  // namespace verbatim
