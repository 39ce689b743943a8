// A pattern of random values, and where each tensor begins in it.
#include "bench/random_checkpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "tensor/half.h"

namespace verbatim {
namespace {

constexpr std::size_t kPattern = std::size_t{4} << 20;  // bytes after which the values come again
constexpr std::size_t kShift = 4098;                    // between the beginnings of two tensors

std::size_t tensor_bytes(const ShapedTensor& tensor) {
  std::int64_t bytes = raw_type_bytes(RawType::kBF16);
  for (const std::int64_t extent : tensor.shape) bytes *= extent;
  return static_cast<std::size_t>(bytes);
}

std::size_t largest_tensor(const ModelShape& shape) {
  std::size_t largest = 0;
  for (const ShapedTensor& tensor : shape.tensors())
    largest = std::max(largest, tensor_bytes(tensor));
  return largest;
}

// As wide as a trained matrix of a few thousand inputs: a sum of so many products stays near one.
std::string random_values() {
  std::string bytes(kPattern, '\0');
  std::uint32_t state = 1;
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    state = state * 1664525u + 1013904223u;
    const float value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F * 0.05F;
    const std::uint16_t half = to_bf16(value);
    std::memcpy(bytes.data() + at, &half, 2);
  }
  return bytes;
}

void write_whole(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

// The folder's file of values, written by the way.
std::string values_file(const BenchFolder& folder) {
  const std::string path = folder.path() + "/values";
  write_whole(path, random_values());
  return path;
}

}  // namespace

BenchFolder::BenchFolder()
    : path_((std::filesystem::temp_directory_path() / "verbatim-bench-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr)
    fail(Code::kIo, "%s: cannot be made: %s", path_.c_str(), system_message(errno).c_str());
}

BenchFolder::~BenchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

RepeatedFile::RepeatedFile(const std::string& path, std::size_t bytes) {
  const auto failed = [&] {
    fail(Code::kIo, "%s: cannot be mapped: %s", path.c_str(), system_message(errno).c_str());
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file.is_open() || ::fstat(file.get(), &about) != 0) failed();
  const auto each = static_cast<std::size_t>(about.st_size);
  const std::size_t size = (bytes + each - 1) / each * each;
  // The addresses first, then the file over each part of them.
  void* const begin = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) failed();
  data_ = static_cast<std::byte*>(begin);
  size_ = size;
  for (std::size_t at = 0; at < size; at += each) {
    if (::mmap(data_ + at, each, PROT_READ, MAP_SHARED | MAP_FIXED, file.get(), 0) == MAP_FAILED) {
      const int error = errno;
      ::munmap(data_, size_);
      errno = error;
      failed();
    }
  }
}

RepeatedFile::~RepeatedFile() {
  ::munmap(data_, size_);
}

void RepeatedFile::release() const {
  ::madvise(data_, size_, MADV_DONTNEED);
}

RandomCheckpoint::RandomCheckpoint(const ModelShape& shape)
    : shape_(shape), values_(values_file(folder_), largest_tensor(shape) + kPattern) {
  for (const TextFile& each : shape.files())
    write_whole(folder_.path() + "/" + each.name, each.text);
  for (const ShapedTensor& tensor : shape.tensors())
    stored_ += static_cast<double>(tensor_bytes(tensor));
}

Checkpoint RandomCheckpoint::open() const {
  std::vector<RawTensor> tensors;
  std::size_t begin = 0;
  for (const ShapedTensor& tensor : shape_.tensors()) {
    RawTensor made;
    made.name = tensor.name;
    made.type = RawType::kBF16;
    made.shape = tensor.shape;
    made.bytes = values_.bytes().subspan(begin, tensor_bytes(tensor));
    made.file = "memory";
    tensors.push_back(std::move(made));
    begin = (begin + kShift) % kPattern;
  }
  return Checkpoint::of(folder_.path(), shape_.config_file, std::move(tensors));
}

}  // namespace verbatim
