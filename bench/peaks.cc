// The ceilings, run by all workers at once.
#include "bench/peaks.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cpu/kernel_table.h"

namespace verbatim {

std::size_t read_together(const Roofline& roofline, ThreadPool& pool,
                          std::span<const std::byte> bytes, std::span<float> sums) {
  const auto threads = static_cast<std::size_t>(pool.threads());
  const std::size_t part = bytes.size() / threads / 4096 * 4096;
  pool.parallel_for(pool.threads(), 1, [&](std::int64_t first, std::int64_t last, int) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
      sums[i] += roofline.read(bytes.data() + i * part, part);
  });
  return part * threads;
}

double multiply_adds_per_s(const Roofline& roofline, ThreadPool& pool) {
  constexpr std::int64_t kRounds = 400000;
  const std::int64_t rounds = std::strcmp(roofline.isa, "scalar") == 0 ? kRounds / 100 : kRounds;
  std::vector<std::int64_t> done(static_cast<std::size_t>(pool.threads()));
  const Clock::time_point start = Clock::now();
  pool.parallel_for(pool.threads(), 1, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t i = first; i < last; ++i) {
      float values[kLanes + 2];
      for (int v = 0; v < kLanes + 2; ++v) values[v] = 1.0F / static_cast<float>(v + 2);
      done[static_cast<std::size_t>(i)] = roofline.fma(rounds, values);
    }
  });
  const double seconds = seconds_since(start);
  double total = 0;
  for (const std::int64_t count : done) total += static_cast<double>(count);
  return total / seconds;
}

double byte_products_per_s(const Roofline& roofline, ThreadPool& pool) {
  constexpr std::int64_t kRounds = 400000;
  const std::int64_t rounds = std::strcmp(roofline.isa, "scalar") == 0 ? kRounds / 100 : kRounds;
  std::vector<std::int64_t> done(static_cast<std::size_t>(pool.threads()));
  const Clock::time_point start = Clock::now();
  pool.parallel_for(pool.threads(), 1, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t i = first; i < last; ++i) {
      alignas(64) std::byte codes[128];
      for (int c = 0; c < 128; ++c) codes[c] = static_cast<std::byte>(c * 37);
      done[static_cast<std::size_t>(i)] = roofline.dot(rounds, codes);
    }
  });
  const double seconds = seconds_since(start);
  double total = 0;
  for (const std::int64_t count : done) total += static_cast<double>(count);
  return total / seconds;
}

double read_bytes_per_s(const Roofline& roofline, ThreadPool& pool,
                        std::span<const std::byte> bytes) {
  std::vector<float> sums(static_cast<std::size_t>(pool.threads()));
  const Clock::time_point start = Clock::now();
  const std::size_t read = read_together(roofline, pool, bytes, sums);
  const double seconds = seconds_since(start);
  for (const float sum : sums) check(std::isfinite(sum), "the bytes are finite numbers");
  return static_cast<double>(read) / seconds;
}

}  // namespace verbatim
