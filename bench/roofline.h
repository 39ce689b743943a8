// The ceilings that kernels are held against, measured in the same process: a loop of nothing but
// fused multiply-adds in registers, and a prefetched read that touches every byte once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim {

struct Roofline {
  const char* isa;
  // Runs `rounds` rounds and returns how many multiply-adds of one float that was. `values`:
  // sixteen different floats to start from, the factor and the term; the result goes to the first,
  // so that nothing is left out.
  std::int64_t (*fma)(std::int64_t rounds, float* values);
  // The same with products of bytes; `codes`: a line of them, and four for a row.
  std::int64_t (*dot)(std::int64_t rounds, std::byte* codes);
  // Reads the bytes, a multiple of 4 KiB, as floats and returns their sum.
  float (*read)(const std::byte* from, std::size_t bytes);
};

std::span<const Roofline* const> rooflines();
const Roofline& roofline(const char* isa);  // throws kNotFound

}  // namespace verbatim
