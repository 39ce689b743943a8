// What the kernel tests share: the tables that run here, and a digest whose expected value stands
// in the test, so that machines which never meet compare their bits.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cpu/kernel_table.h"
#include "weights/test_values.h"

namespace verbatim {

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
