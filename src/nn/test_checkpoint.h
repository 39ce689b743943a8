// For tests: a checkpoint folder of tensors with random values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/write_safetensors.h"
#include "device/test_place.h"

namespace verbatim {

class TestCheckpoint {
 public:
  // Values as float32, kept as `type`: F32, F16 or BF16.
  void add(const std::string& name, std::vector<std::int64_t> shape,
           const std::vector<float>& values, RawType type = RawType::kF32) {
    const WeightFormat& format = type == RawType::kF32   ? kFormatF32
                                 : type == RawType::kF16 ? kFormatF16
                                                         : kFormatBF16;
    tensors_.push_back({name, type, std::move(shape), stored(format, values)});
  }
  void add(const std::string& name, std::vector<std::int64_t> shape, RawType type = RawType::kF32,
           float scale = 1.0F, float middle = 0.0F) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    add(name, std::move(shape), values_.uniforms(count, scale, middle), type);
  }
  void add_bytes(const std::string& name, RawType type, std::vector<std::int64_t> shape,
                 std::size_t bytes) {
    tensors_.push_back({name, type, std::move(shape), std::vector<std::byte>(bytes)});
  }
  Checkpoint open() const {
    folder_.write("config.json", "{}");
    std::vector<NamedTensor> named;
    for (const Kept& each : tensors_) {
      named.push_back({each.name, each.type, each.shape, each.bytes});
    }
    write_safetensors(folder_.path("model.safetensors"), named);
    return Checkpoint::open(folder_.path());
  }

 private:
  struct Kept {
    std::string name;
    RawType type = RawType::kF32;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
  };
  ScratchFolder folder_;
  TestValues values_{17};
  std::vector<Kept> tensors_;
};

}  // namespace verbatim
