// One projection, measured beside its ceiling.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "bench/roofline.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels/linear_shapes.h"
#include "tensor/tensor.h"

namespace verbatim {

struct KernelCase {
  const LinearKernel* kernel = nullptr;
  LinearShape shape{};
  int threads = 1;
  std::string group;        // whose mean it belongs to: "512 rows", "encoder", "29 rows", "1 row"
  std::int32_t scaled = 0;  // input features under one scale, 0 of a dense format

  std::string format() const;  // "int4:32"
  // Its shape and planes; bytes: whatever the planes may refer to.
  Weight weight(std::span<const std::byte> bytes) const;
  std::size_t packed_bytes() const { return kernel->packed_bytes(weight({})); }
};

inline bool multiplies_bytes(const KernelCase& one) {
  return one.kernel->format->activations != Activations::kFloat;
}

// Up to eight rows the weights' bytes are the bound, beyond it is arithmetic.
inline bool is_read_bound(const LinearShape& shape) {
  return shape.rows <= 8;
}

struct KernelTimes {
  double kernel_s = 0;   // the best run of the projection
  double ceiling_s = 0;  // what the ceiling would have taken for the same work
  double near_s = 0;     // of a few rows: the projection, were all its weights in L2; else 0
};

// Weights far larger than any cache, activations, and the threads: made once for all cases of a
// format. Every run takes the next copy, so that weights always come from memory.
class KernelBench {
 public:
  KernelBench(const KernelTable& table, const std::vector<int>& threads);
  void fill(const WeightFormat& format);
  // One run of the ceiling, one of the projection and one with weights in L2, next to each other.
  // Each is repeated inside to last about a millisecond.
  KernelTimes measure(const KernelCase& one);

 private:
  ThreadPool& pool(int threads);
  double run_projection(const KernelCase& one, std::int64_t repeats);
  double run_near(const KernelCase& one);
  double run_arithmetic(const KernelCase& one, double work);
  void round_rows(const KernelCase& one, LinearCall& whole);
  double run_read(const KernelCase& one, std::size_t bytes, std::int64_t repeats);
  LinearCall call_of(const KernelCase& one);
  std::byte* scratch(int worker);
  const std::byte* next_copy(std::size_t bytes);
  void write_headers(const KernelCase& one);

  const KernelTable& table_;
  const Roofline& roofline_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  Buffer weights_;
  std::size_t weights_at_ = 0;
  Buffer x_;
  Buffer y_;
  Buffer scratch_;
  Buffer rounded_;
};

}  // namespace verbatim
