// A pattern of random values, and where each tensor begins in it.
#include "bench/random_checkpoint.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "tensor/half.h"

namespace verbatim {
namespace {

constexpr std::size_t kPattern = std::size_t{1} << 20;  // bytes after which the values come again
constexpr std::size_t kShift = 4098;                    // between the beginnings of two tensors

std::size_t tensor_bytes(const ShapedTensor& tensor) {
  std::int64_t bytes = raw_type_bytes(RawType::kBF16);
  for (const std::int64_t extent : tensor.shape) bytes *= extent;
  return static_cast<std::size_t>(bytes);
}

// As wide as a trained matrix of a few thousand inputs: a sum of so many products stays near one.
void fill(Buffer& buffer) {
  std::uint32_t state = 1;
  const std::size_t whole = std::min(kPattern, buffer.size());
  for (std::size_t at = 0; at + 2 <= whole; at += 2) {
    state = state * 1664525u + 1013904223u;
    const float value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F * 0.05F;
    const std::uint16_t half = to_bf16(value);
    std::memcpy(buffer.data() + at, &half, 2);
  }
  for (std::size_t at = kPattern; at < buffer.size(); at += kPattern) {
    std::memcpy(buffer.data() + at, buffer.data(), std::min(kPattern, buffer.size() - at));
  }
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

RandomCheckpoint::RandomCheckpoint(const ModelShape& shape) : shape_(shape) {
  for (const TextFile& each : shape.files()) {
    AtomicFile file(folder_.path() + "/" + each.name);
    file.write(each.text);
    file.commit();
  }
  std::size_t largest = 0;
  for (const ShapedTensor& tensor : shape.tensors())
    largest = std::max(largest, tensor_bytes(tensor));
  values_ = allocate_host(largest + kPattern);
  fill(values_);
}

Checkpoint RandomCheckpoint::open() const {
  std::vector<RawTensor> tensors;
  std::size_t begin = 0;
  for (const ShapedTensor& tensor : shape_.tensors()) {
    RawTensor made;
    made.name = tensor.name;
    made.type = RawType::kBF16;
    made.shape = tensor.shape;
    made.bytes = {values_.data() + begin, tensor_bytes(tensor)};
    made.file = "memory";
    tensors.push_back(std::move(made));
    begin = (begin + kShift) % kPattern;
  }
  return Checkpoint::of(folder_.path(), shape_.config_file, std::move(tensors));
}

}  // namespace verbatim
