// The int8 filter of an output head: finds the panels that may hold the largest output of a row
// from a copy of the head in int8, which is half as long to read as 16 bits, so that the exact
// product runs for those panels alone and the token is that of the exact product, always.
//
// A weight w of output o is s q + e in int8, a row x is s1 q1 + s2 q2 + r in two rows of int8: its
// rounding, and what that left rounded again. The copy's kernel gives
//   a = s1 s (q1 . q) + s2 s (q2 . q)
// and what the exact product computes, in its own order and roundings, lies within
//   |x| |e| + |r| |s q|              what both roundings left out (Cauchy and Schwarz)
//   + N u / (1 - N u) |x| |w|        the exact product's own rounding errors
//   + 8 u (|s1 q1| + |s2 q2|) |s q|  those of a
//   + what is lost in denormals
// of a. |.| is the Euclidean norm, u = 2^-24, and N how many roundings a product goes through: the
// longest chain of multiply-adds and one addition for each chain. The norms are computed in double
// and rounded up; |e| and |w| + |e|, which is no less than |w| and |s q|, are kept for each output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/kernel_table.h"
#include "device/device.h"
#include "tensor/tensor.h"

namespace verbatim {

class HeadFilter {
 public:
  // Rows that may be filtered together, whether that is faster or not.
  static constexpr std::int64_t kRows = 16;

  // Whether a head gets one: a dense weight that is read from memory, not from caches.
  static bool takes(const KernelTable& table, const Weight& head, HeadFilterUse use);
  // What it costs beside the head, for a pool of so many threads.
  static std::size_t bytes(const KernelTable& table, const Weight& head, int threads);

  // head is read row by row and not kept.
  HeadFilter(const KernelTable& table, const Weight& head, ThreadPool& pool);
  HeadFilter(const HeadFilter&) = delete;
  HeadFilter& operator=(const HeadFilter&) = delete;

  std::size_t read_bytes() const;  // by one pass

  // The panels that may hold the largest output of one of at most kRows rows of x, ascending. None
  // where those would be so many that the whole product is the shorter way, or where x is not
  // finite. What the span shows lasts until the next call. scratch: kLinearScratchBytes for each
  // worker.
  std::span<const std::int32_t> candidates(const float* x, std::int64_t x_stride, std::int64_t rows,
                                           ThreadPool& pool, std::byte* scratch);

  // The interval that holds what the exact product of one row computes, for every output; false
  // where x is not finite. What candidates() looks at, for tests.
  bool intervals(const float* x, std::span<float> least, std::span<float> most);

 private:
  // |computed - a| <= by_error |e| + by_norm (|w| + |e|) + always.
  struct Margin {
    float by_error = 0;
    float by_norm = 0;
    float always = 0;
  };
  struct Shape;
  void encode(const Weight& head, std::int64_t first_panel, std::int64_t last_panel);
  bool round(const float* x, std::int64_t row);
  void run_block(std::int64_t first_panel, std::int64_t panels, std::int64_t rows, float* sums,
                 std::byte* scratch);
  // The interval of every output of a panel whose sums these are.
  void bound_panel(std::int64_t row, std::int64_t panel, const float* sums, float* least,
                   float* most) const;
  void scan(std::int64_t first_panel, std::int64_t last_panel, std::int64_t rows, int worker,
            std::byte* scratch);
  float* sums_of(int worker);

  const KernelTable& table_;
  const LinearKernel& kernel_;
  std::int32_t in_;
  std::int32_t out_;
  std::int64_t panels_;
  double roundings_;  // N
  Buffer packed_;
  std::size_t panel_bytes_;
  std::vector<float> errors_;  // |e| of each output, whole panels of them
  std::vector<float> norms_;   // |w| + |e|
  // Of the call that runs.
  std::size_t rounded_bytes_;
  Buffer rounded_;               // [2 kRows]
  std::vector<float> rest_;      // x - s1 q1
  std::vector<Margin> margins_;  // [kRows]
  std::vector<float> sums_;      // [threads][2 kRows][a block of panels]
  std::vector<float> highest_;   // [kRows][panels]: the largest upper end
  std::vector<float> floors_;    // [threads][kRows]: the largest lower end
  std::vector<std::int32_t> found_;
};

}  // namespace verbatim
