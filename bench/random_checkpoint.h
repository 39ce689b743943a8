// A checkpoint of a published shape with random bf16 weights. Its tensors are views of one short
// file that is mapped over and over, so that only what a device packs takes the model's size.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bench/model_shapes.h"
#include "checkpoint/checkpoint.h"

namespace verbatim {

class BenchFolder {  // of its own, gone at the end
 public:
  BenchFolder();
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A file seen again and again, side by side. The pages that were read count as this process's own
// until they are released.
class RepeatedFile {
 public:
  // bytes: what is seen; the file is a whole number of pages.
  RepeatedFile(const std::string& path, std::size_t bytes);
  ~RepeatedFile();
  RepeatedFile(const RepeatedFile&) = delete;
  RepeatedFile& operator=(const RepeatedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  void release() const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

class RandomCheckpoint {
 public:
  explicit RandomCheckpoint(const ModelShape& shape);
  Checkpoint open() const;                         // while this lives
  void release() const { values_.release(); }      // what was read so far, as a checkpoint's files
  double stored_bytes() const { return stored_; }  // of all tensors, were they files

 private:
  BenchFolder folder_;
  const ModelShape& shape_;
  RepeatedFile values_;
  double stored_ = 0;
};

}  // namespace verbatim
