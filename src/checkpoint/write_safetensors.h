// Writes safetensors files: what --dump leaves and what the tests read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace verbatim {

struct NamedTensor {
  std::string name;
  RawType type = RawType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // little endian; the size is that of shape and type
};

// Writes the tensors to `path`, whole or not at all: the widest types first and by name among
// equals, so every tensor stands at a multiple of its element and equal tensors give equal bytes
// whatever their order in the argument. Throws kIo naming the path; two equal names are a broken
// promise.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace verbatim
