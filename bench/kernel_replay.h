// The kernels of a pass alone: its projections, convolutions and attention, asked of the device
// once more, one behind the other, without the norms, sums and rotations between them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/device.h"

namespace verbatim {

// One op of a pass: a projection, a search of the head, a convolution or an attention.
struct KernelCall {
  std::int64_t rows = 0;        // that go in
  std::vector<Linear> weights;  // that were projected together, at most three
  bool is_best = false;         // the largest output of the only one is asked for
  std::optional<Conv1d> conv;
  std::optional<AttentionShape> attention;
  Epilogue epilogue;                  // its residual is some other rows
  std::vector<Span> spans;            // of a convolution or an attention
  std::vector<std::int64_t> lengths;  // of the spans' caches
};

struct ReplayTimes {
  double projections_s = 0;  // convolutions included
  double attention_s = 0;
  double sum_s() const { return projections_s + attention_s; }
};

class KernelReplay {
 public:
  explicit KernelReplay(Device& device) : device_(device) {}
  // Room for the inputs of these calls.
  void fit(std::span<const KernelCall> calls);
  // The caches are left at the lengths of the last call.
  ReplayTimes run(std::span<const KernelCall> calls);

 private:
  Tensor rows(std::int64_t count, std::int64_t cols) const;
  void run(const KernelCall& call);
  void project(const KernelCall& call);

  Device& device_;
  std::vector<float> values_;  // any rows that go in, or are added
};

}  // namespace verbatim
