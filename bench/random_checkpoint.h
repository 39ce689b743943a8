// A checkpoint of a published shape with random bf16 weights, made in memory. Its tensors are views
// of one pattern, so that only what a device packs takes the model's size.
#pragma once

#include <string>

#include "bench/model_shapes.h"
#include "checkpoint/checkpoint.h"
#include "tensor/tensor.h"

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

class RandomCheckpoint {
 public:
  explicit RandomCheckpoint(const ModelShape& shape);
  Checkpoint open() const;  // while this lives

 private:
  BenchFolder folder_;
  const ModelShape& shape_;
  Buffer values_;
};

}  // namespace verbatim
