// How a projection and its ceiling are run: the same pool, the same cut over the workers.
#include "bench/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "bench/peaks.h"
#include "cpu/linear_cut.h"
#include "tensor/half.h"

namespace verbatim {
namespace {

constexpr std::size_t kWeightBytes = std::size_t{896} << 20;

float* floats(Buffer& buffer) {
  return static_cast<float*>(static_cast<void*>(buffer.data()));
}

float uniform(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(static_cast<std::int32_t>(state)) * std::ldexp(1.0F, -31);
}

}  // namespace

std::string KernelCase::format() const {
  const bool is_whole_row = scaled == 0 || scaled == shape.in;
  return is_whole_row ? kernel->format->name : formatted("%s:%d", kernel->format->name, scaled);
}

Weight KernelCase::weight(std::span<const std::byte> bytes) const {
  Weight made{.format = kernel->format,
              .out_features = shape.out,
              .in_features = shape.in,
              .group = scaled,
              .planes = {}};
  if (scaled == 0 || bytes.empty()) return made;
  const bool is_int8 = kernel->format == &kFormatInt8 || kernel->format == &kFormatW8A8;
  const auto out = static_cast<std::size_t>(shape.out);
  const auto in = static_cast<std::size_t>(shape.in);
  made.planes[0] = bytes.first(out * (is_int8 ? in : (in + 1) / 2));
  made.planes[1] =
      bytes.first(out * static_cast<std::size_t>((shape.in + scaled - 1) / scaled) * sizeof(float));
  if (kernel->format == &kFormatNf4) made.planes[2] = bytes.first(16 * sizeof(float));
  return made;
}

KernelBench::KernelBench(const KernelTable& table, const std::vector<int>& threads)
    : table_(table), roofline_(roofline(table.isa)) {
  int most = 1;
  for (const int count : threads) {
    pools_.push_back(std::make_unique<ThreadPool>(count, true));
    most = std::max(most, count);
  }
  std::size_t x_floats = 0;
  std::size_t y_floats = 0;
  const auto widen = [&](std::int64_t rows, const LinearShape& shape) {
    x_floats = std::max(x_floats, static_cast<std::size_t>(rows * shape.in));
    y_floats = std::max(y_floats, static_cast<std::size_t>(rows * shape.out));
  };
  for (const LinearShape& shape : kDecoderShapes) widen(512, shape);
  for (const LinearShape& shape : kEncoderShapes) widen(shape.rows, shape);
  weights_ = allocate_host(kWeightBytes);
  x_ = allocate_host(x_floats * sizeof(float));
  y_ = allocate_host(y_floats * sizeof(float));
  scratch_ = allocate_host(kLinearScratchBytes * static_cast<std::size_t>(most));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < x_floats; ++i) floats(x_)[i] = uniform(state);
}

// Any bytes are a packed weight as long as they are finite numbers of the format.
void KernelBench::fill(const WeightFormat& format) {
  constexpr std::size_t kPattern = std::size_t{1} << 20;
  std::uint32_t state = 2;
  // Codes and scales of a quantised format are small floats too, if looked at as such.
  const std::size_t element_bytes = format.element_bytes == 0 ? 4 : format.element_bytes;
  for (std::size_t at = 0; at < kPattern; at += element_bytes) {
    const float value = uniform(state) * 0.05F;
    const std::uint16_t half = &format == &kFormatF16 ? to_f16(value) : to_bf16(value);
    const void* from = element_bytes == 4 ? static_cast<const void*>(&value) : &half;
    std::memcpy(weights_.data() + at, from, element_bytes);
  }
  for (std::size_t at = kPattern; at < kWeightBytes; at += kPattern) {
    std::memcpy(weights_.data() + at, weights_.data(), kPattern);
  }
}

ThreadPool& KernelBench::pool(int threads) {
  for (const auto& candidate : pools_) {
    if (candidate->threads() == threads) return *candidate;
  }
  fail(Code::kInternal, "no pool of %d threads was made", threads);
}

const std::byte* KernelBench::next_copy(std::size_t bytes) {
  if (weights_at_ + bytes > kWeightBytes) weights_at_ = 0;
  const std::byte* copy = weights_.data() + weights_at_;
  weights_at_ += (bytes + 4095) / 4096 * 4096;
  return copy;
}

// As the CPU device rounds them.
void KernelBench::round_rows(const KernelCase& one, LinearCall& whole) {
  const KernelTable::RoundRow round_row = table_.rounding(one.kernel->format->activations);
  const std::size_t row_bytes = rounded_row(whole.in_features, whole.group).bytes;
  const std::size_t bytes = row_bytes * static_cast<std::size_t>(whole.rows);
  if (rounded_.size() < bytes) rounded_ = allocate_host(bytes);
  pool(one.threads).parallel_for(whole.rows, 4, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      round_row(whole.x + r * whole.x_stride, whole.in_features, whole.group,
                rounded_.data() + static_cast<std::size_t>(r) * row_bytes);
    }
  });
  whole.rounded = rounded_.data();
  whole.rounded_stride = static_cast<std::int64_t>(row_bytes);
}

// What stands in front of each copy; packing no panels writes nothing else.
void KernelBench::write_headers(const KernelCase& one) {
  const WeightFormat& format = *one.kernel->format;
  if (format.element_bytes != 0 || format.activations != Activations::kFloat) return;
  const std::size_t bytes = one.packed_bytes();
  const Weight weight = one.weight({weights_.data(), kWeightBytes});
  weights_at_ = 0;
  for (std::size_t at = 0; at + bytes <= kWeightBytes; at += (bytes + 4095) / 4096 * 4096) {
    one.kernel->pack(weight, 0, 0, weights_.data() + at);
  }
}

// The whole projection, but for the weights.
LinearCall KernelBench::call_of(const KernelCase& one) {
  LinearCall whole;
  whole.in_features = one.shape.in;
  whole.out_features = one.shape.out;
  whole.group = one.scaled;
  whole.x = floats(x_);
  whole.x_stride = one.shape.in;
  whole.rows = one.shape.rows;
  whole.y = floats(y_);
  whole.y_stride = one.shape.out;
  return whole;
}

std::byte* KernelBench::scratch(int worker) {
  return scratch_.data() + kLinearScratchBytes * static_cast<std::size_t>(worker);
}

// Cut over the workers as the CPU device cuts it.
double KernelBench::run_projection(const KernelCase& one, std::int64_t repeats) {
  LinearCall whole = call_of(one);
  const LinearCut cut = linear_cut(whole, one.threads);
  const auto body = [&](std::int64_t first, std::int64_t last, int worker) {
    one.kernel->run(cut.part(whole, first, last, scratch(worker)));
  };
  const std::size_t bytes = one.packed_bytes();
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < repeats; ++i) {
    whole.packed = next_copy(bytes);
    if (multiplies_bytes(one)) round_rows(one, whole);
    pool(one.threads).parallel_for(cut.count, cut.grain, body);
  }
  return seconds_since(start) / static_cast<double>(repeats);
}

// Every worker passes again and again by four panels of its own, with fewer input features where L2
// would not hold them. Rows that are rounded were so before.
double KernelBench::run_near(const KernelCase& one) {
  constexpr std::size_t kNearBytes = std::size_t{512} << 10;
  constexpr std::size_t kLongRun = std::size_t{32} << 20;  // of each worker
  KernelCase near = one;
  near.shape.out = kStreamPanels * kLanes;
  while (near.packed_bytes() > kNearBytes) {
    near.shape.in = near.shape.in / 512 * 256;
    if (one.scaled == one.shape.in) near.scaled = near.shape.in;
  }
  const std::size_t bytes = near.packed_bytes();
  const auto repeats = static_cast<std::int64_t>(kLongRun / bytes);
  weights_at_ = 0;
  write_headers(near);
  LinearCall whole = call_of(near);
  if (multiplies_bytes(near)) round_rows(near, whole);
  const auto body = [&](std::int64_t first, std::int64_t last, int worker) {
    for (std::int64_t part = first; part < last; ++part) {
      LinearCall call = whole;
      call.packed =
          weights_.data() + static_cast<std::size_t>(part) * ((bytes + 4095) / 4096 * 4096);
      call.y += part * near.shape.rows * near.shape.out;
      call.panels = kStreamPanels;
      call.scratch = scratch(worker);
      for (std::int64_t i = 0; i < repeats; ++i) near.kernel->run(call);
    }
  };
  const Clock::time_point start = Clock::now();
  pool(one.threads).parallel_for(one.threads, 1, body);
  const double passed = static_cast<double>(bytes) * static_cast<double>(repeats) * one.threads;
  return seconds_since(start) * static_cast<double>(one.packed_bytes()) / passed;
}

// How long `work` multiply-adds would take at the rate of some milliseconds of the loop.
double KernelBench::run_arithmetic(const KernelCase& one, double work) {
  ThreadPool& threads = pool(one.threads);
  return work / (multiplies_bytes(one) ? byte_products_per_s(roofline_, threads)
                                       : multiply_adds_per_s(roofline_, threads));
}

double KernelBench::run_read(const KernelCase& one, std::size_t bytes, std::int64_t repeats) {
  std::vector<float> sums(static_cast<std::size_t>(one.threads));
  std::size_t read = 0;
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < repeats; ++i) {
    read += read_together(roofline_, pool(one.threads), {next_copy(bytes), bytes}, sums);
  }
  const double seconds = seconds_since(start);
  check(std::isfinite(sums[0]), "the bytes are finite numbers");
  return seconds * static_cast<double>(bytes) / static_cast<double>(read);
}

KernelTimes KernelBench::measure(const KernelCase& one) {
  constexpr std::size_t kLongRead = std::size_t{64} << 20;  // enough that a start costs nothing
  const LinearShape& shape = one.shape;
  write_headers(one);
  const std::size_t bytes = one.packed_bytes();
  if (is_read_bound(shape)) {
    const auto repeats = static_cast<std::int64_t>((kLongRead + bytes - 1) / bytes);
    const double ceiling_s = run_read(one, bytes, repeats);
    const double kernel_s = run_projection(one, repeats);
    return {kernel_s, ceiling_s, run_near(one)};
  }
  const double work = static_cast<double>(shape.rows) * shape.in * shape.out;
  const double ceiling_s = run_arithmetic(one, work);
  const auto repeats = static_cast<std::int64_t>(std::clamp(0.004 / ceiling_s, 1.0, 100.0));
  return {run_projection(one, repeats), ceiling_s, 0};
}

}  // namespace verbatim
