// A folder that appears whole or not at all, and the files that are written into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace verbatim {

// Files are made under a temporary name beside `path`; commit renames the folder. Without it
// nothing is left. Throws kInvalidArgument where `path` is no new name and no empty folder,
// kNotFound and kIo.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::string path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::string& path() const { return path_; }  // as it will be
  // Where a file of this name is written until commit() moves the folder to its place.
  std::string inside(std::string_view file) const;
  std::uint64_t free_bytes() const;  // of its disk
  void commit();

 private:
  std::string path_;
  std::string parent_;
  std::string temporary_;
};

// A file of such a folder whose size is known; its parts are written in any order, and close sees
// to it that they are on the disk. Throws kIo naming the file (a disk that is full, at once where
// the file system can tell), and kCancelled.
class SizedFile {
 public:
  SizedFile(const AtomicFolder& folder, const std::string& file, std::uint64_t bytes);

  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  void close();
  std::uint64_t size() const { return size_; }

 private:
  std::string shown_;
  std::uint64_t size_;
  Descriptor file_;
};

}  // namespace verbatim
