// Writes safetensors files: what --dump leaves, what tests read back, and the plans from which
// write_checkpoint.h makes files that are larger than memory.
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

// A tensor whose bytes are not there yet.
struct PlannedTensor {
  std::string name;
  RawType type = RawType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes() const;
};

// How such a file begins, and where in it each tensor stands; in the order above.
struct SafetensorsPlan {
  std::string head;  // the header's length and the header
  std::vector<std::uint64_t>
      offsets;              // of each tensor, as they came, from the file's first byte on
  std::uint64_t bytes = 0;  // of the file
};
// `metadata`: a JSON object of strings, or empty for none.
SafetensorsPlan plan_safetensors(std::span<const PlannedTensor> tensors,
                                 const std::string& metadata = "");

}  // namespace verbatim
