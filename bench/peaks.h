// What a pool of workers reaches together: a prefetched read, and a loop of multiply-adds.
#pragma once

#include <cstddef>
#include <span>

#include "base/thread_pool.h"
#include "bench/roofline.h"

namespace verbatim {

// Every worker reads its part; returns how many bytes that were, whole pages of 4 KiB each. sums:
// one for each worker, so that nothing is left out.
std::size_t read_together(const Roofline& roofline, ThreadPool& pool,
                          std::span<const std::byte> bytes, std::span<float> sums);

// The rate of some milliseconds of the loop.
double multiply_adds_per_s(const Roofline& roofline, ThreadPool& pool);

// The same of products of bytes.
double byte_products_per_s(const Roofline& roofline, ThreadPool& pool);

// One pass over the bytes.
double read_bytes_per_s(const Roofline& roofline, ThreadPool& pool,
                        std::span<const std::byte> bytes);

}  // namespace verbatim
