// verbatim-bench attention: one KV head on one thread, against the loop of multiply-adds where many
// rows share its pages, and against the read of its pages where one row decodes.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "bench/commands.h"
#include "bench/kv_page.h"
#include "bench/quiet.h"
#include "bench/roofline.h"
#include "cpu/kernel_table.h"
#include "kv/codecs.h"
#include "tensor/tensor.h"

namespace verbatim {
namespace {

// Pages that a decode step finds in no cache, because others were read in between.
constexpr std::size_t kPoolBytes = std::size_t{384} << 20;

struct Shape {
  std::int32_t group;
  std::int32_t head_dim;
  std::int64_t context;  // positions behind the last row, itself included
  std::int32_t rows;
};
constexpr Shape kShapes[] = {
    {7, 128, 512, 512}, {7, 128, 14336, 29}, {4, 128, 2048, 512}, {1, 64, 1024, 512},
    {7, 128, 14336, 1}, {7, 128, 27648, 1},  {4, 128, 14336, 1},  {1, 128, 14336, 1},
};

// This thread's own time, so that a busy machine disturbs less.
double now_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The pool is cut into sequences of one shape; every run takes the next one.
class AttentionBench {
 public:
  AttentionBench(const KernelTable& table, std::size_t codec, const Shape& shape)
      : table_(table), roofline_(roofline(table.isa)), codec_(codec), shape_(shape) {
    const std::vector<std::byte> page = kv_head_page(codec, shape.head_dim);
    page_bytes_ = page.size();
    sequence_pages_ =
        static_cast<std::size_t>((shape.context + kPagePositions - 1) / kPagePositions);
    sequences_ = std::max<std::size_t>(1, kPoolBytes / (page_bytes_ * sequence_pages_));
    pool_ = allocate_host(sequences_ * sequence_pages_ * page_bytes_);
    for (std::size_t i = 0; i < sequences_ * sequence_pages_; ++i) {
      std::byte* to = pool_.data() + i * page_bytes_;
      std::memcpy(to, page.data(), page_bytes_);
      pages_.push_back(to);
    }
    scratch_ =
        allocate_host(table.attention_scratch_bytes(shape.group, shape.head_dim, shape.context));
    q_.resize(static_cast<std::size_t>(stride() * shape.rows));
    for (std::size_t i = 0; i < q_.size(); ++i) q_[i] = static_cast<float>(i % 31) / 16.0F - 1.0F;
    out_.resize(q_.size());
  }

  bool is_read_bound() const { return shape_.rows == 1; }
  double bytes() const { return static_cast<double>(sequence_pages_ * page_bytes_); }
  double multiply_adds() const {
    double seen = 0;
    for (std::int32_t r = 0; r < shape_.rows; ++r) {
      seen += static_cast<double>(shape_.context - shape_.rows + r + 1);
    }
    return 2.0 * seen * shape_.group * shape_.head_dim;
  }

  double run_kernel() {
    const double start = now_s();
    const std::byte* const* pages = next_sequence();
    for (std::int32_t row = 0; row < shape_.rows; row += table_.attention_rows) {
      AttentionCall call;
      call.q = q_.data() + row * stride();
      call.q_stride = stride();
      call.out = out_.data() + row * stride();
      call.out_stride = stride();
      call.rows = std::min(table_.attention_rows, shape_.rows - row);
      call.group = shape_.group;
      call.head_dim = shape_.head_dim;
      call.position = shape_.context - shape_.rows + row;
      call.pages = pages;
      call.scale = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
      call.scratch = scratch_.data();
      table_.attention[codec_].run(call);
    }
    return now_s() - start;
  }

  double run_ceiling() {
    if (is_read_bound()) {
      const std::byte* from = next_sequence()[0];
      const std::size_t bytes = sequence_pages_ * page_bytes_ / 4096 * 4096;
      const double start = now_s();
      float sum = roofline_.read(from, bytes);
      benchmark::DoNotOptimize(sum);
      return (now_s() - start) * this->bytes() / static_cast<double>(bytes);
    }
    float values[18];
    for (int i = 0; i < 18; ++i) values[i] = 0.5F + static_cast<float>(i) / 64.0F;
    const double start = now_s();
    const std::int64_t done = roofline_.fma(100000, values);
    benchmark::DoNotOptimize(values[0]);
    return (now_s() - start) * multiply_adds() / static_cast<double>(done);
  }

 private:
  std::int64_t stride() const { return std::int64_t{shape_.group} * shape_.head_dim; }
  const std::byte* const* next_sequence() {
    next_ = (next_ + 1) % sequences_;
    return pages_.data() + next_ * sequence_pages_;
  }

  const KernelTable& table_;
  const Roofline& roofline_;
  std::size_t codec_;
  Shape shape_;
  std::size_t page_bytes_ = 0;
  std::size_t sequence_pages_ = 0;
  std::size_t sequences_ = 0;
  std::size_t next_ = 0;
  Buffer pool_;
  Buffer scratch_;
  std::vector<const std::byte*> pages_;
  std::vector<float> q_;
  std::vector<float> out_;
};

// One shape with one codec; the best times of all its runs.
struct Case {
  std::size_t codec = 0;
  Shape shape{};
  double kernel_s = std::numeric_limits<double>::max();
  double ceiling_s = std::numeric_limits<double>::max();
};

void print(const KernelTable& table, const AttentionBench& bench, const Case& one) {
  const Shape& shape = one.shape;
  std::printf("%-4s %5d %8d %8lld %5d %9.3f %9.1f %7.1f %7.3f  %s\n",
              table.attention[one.codec].codec, shape.group, shape.head_dim,
              static_cast<long long>(shape.context), shape.rows, one.kernel_s * 1e3,
              2.0 * bench.multiply_adds() / one.kernel_s / 1e9, bench.bytes() / one.kernel_s / 1e9,
              one.ceiling_s / one.kernel_s, bench.is_read_bound() ? "read" : "fma");
}

void measure(benchmark::State& state, AttentionBench& bench, Case& one) {
  for ([[maybe_unused]] auto iteration : state) {
    one.ceiling_s = std::min(one.ceiling_s, bench.run_ceiling());
    const double once_s = bench.run_kernel();
    one.kernel_s = std::min(one.kernel_s, once_s);
    state.SetIterationTime(once_s);
  }
}

}  // namespace

int bench_attention(const AttentionBenchOptions& options) {
  const KernelTable& table = table_for(options.isa);
  std::printf("isa %s\n%-4s %5s %8s %8s %5s %9s %9s %7s %7s  %s\n", table.isa, "", "group",
              "head_dim", "context", "rows", "ms", "GFLOP/s", "GB/s", "share", "of");
  for (std::size_t codec = 0; codec < table.attention.size(); ++codec) {
    for (const Shape& shape : kShapes) {
      AttentionBench bench(table, codec, shape);
      Case one{.codec = codec, .shape = shape};
      benchmark::RegisterBenchmark("attention",
                                   [&](benchmark::State& state) { measure(state, bench, one); })
          ->UseManualTime()
          ->MinTime(options.seconds);
      Quiet quiet;
      benchmark::RunSpecifiedBenchmarks(&quiet);
      benchmark::ClearRegisteredBenchmarks();
      print(table, bench, one);
    }
  }
  return 0;
}

}  // namespace verbatim
