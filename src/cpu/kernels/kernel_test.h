// What the kernel tests share: numbers that are the same on every machine, the tables that run
// here, and a digest whose expected value stands in the test, so that machines which never meet
// compare their bits.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cpu/kernel_table.h"

namespace verbatim {

class TestNumbers {
 public:
  explicit TestNumbers(std::uint32_t seed) : state_(seed * 2654435761U + 1U) {}
  float uniform() {  // in [-1, 1), with 24 bits
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 8) - (1 << 23)) /
           static_cast<float>(1 << 23);
  }
  std::vector<float> uniforms(std::int64_t count, float scale = 1.0F) {
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& value : made) value = scale * uniform();
    return made;
  }

 private:
  std::uint32_t state_;
};

inline std::vector<const KernelTable*> tables_here() {
  std::vector<const KernelTable*> here;
  for (const KernelTable* table : kernel_tables()) {
    if (table->runs_here()) here.push_back(table);
  }
  return here;
}

inline const KernelTable& scalar_table() {
  return *kernel_tables().back();
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline std::uint64_t digest(std::span<const float> values) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte b : std::as_bytes(values)) {
    hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace verbatim
