// Norms are made in double, intervals in float with margins widened for it.
#include "cpu/head_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "cpu/linear_cut.h"

namespace verbatim {
namespace {

constexpr double kUnit = 0x1p-24;
// More than denormals can take from a product of one input feature, from a code times its scale
// or from a norm's one summand. Scales are never denormal: see kLeastNorm.
constexpr double kDenormal = 0x1p-110;
// Rows of x and weights shorter than this or longer are not approximated: products of what is
// between them neither overflow nor get near the denormals.
constexpr double kLeastNorm = 0x1p-60;
constexpr double kMostNorm = 0x1p60;
constexpr std::int32_t kMostInputs = 1 << 16;  // whose sums of codes fit 32 bits
constexpr std::int64_t kBlockPanels = 64;      // the sums of a block stay in the near caches
constexpr std::int64_t kBlockSums = kBlockPanels * kLanes;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of a head in memory. Smaller ones are read from caches, where int8 gains less or loses: without
// the filter one row took 1.8 times as long for 32 MiB (AVX2 1.3), 1.4 for 16 MiB (0.8) and 0.8 for
// 4 MiB (0.8), on two cores with 32 MiB of cache.
constexpr std::size_t kLeastBytes = std::size_t{32} << 20;
// One panel by itself takes a third longer than among others, see linear_cut.cc.
constexpr std::int64_t kMostShare = 2;  // of the panels: one half

// No less than value, which is no denormal, and so much more that the few float operations which
// make a margin of it cannot fall below.
float rounded_up(double value) {
  return static_cast<float>(value * (1 + 0x1p-18));
}

double wide(float value) {
  return static_cast<double>(value);
}

// Eight sums side by side, so that compilers may make vectors of them.
template <typename Value>
double sum_of_squares(std::int32_t count, const Value& value) {
  std::array<double, 8> sums{};
  std::int32_t k = 0;
  for (; k + 8 <= count; k += 8) {
    for (std::int32_t lane = 0; lane < 8; ++lane) {
      const double v = value(k + lane);
      sums[static_cast<std::size_t>(lane)] += v * v;
    }
  }
  for (std::size_t lane = 0; k < count; ++k, ++lane) sums[lane] += value(k) * value(k);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

bool is_ordinary(double norm) {
  return norm >= kLeastNorm && norm <= kMostNorm;
}

const LinearKernel& int8_kernel(const KernelTable& table) {
  for (const LinearKernel& kernel : table.linear)
    if (kernel.format == &kFormatW8A8) return kernel;
  fail(Code::kInternal, "every table has a kernel for w8a8");
}

Weight int8_shape(std::int32_t out, std::int32_t in) {
  Weight shape;
  shape.format = &kFormatW8A8;
  shape.out_features = out;
  shape.in_features = in;
  shape.group = in;
  return shape;
}

// The most roundings that one product of an output goes through.
double roundings(const Weight& head) {
  std::int32_t longest = 0;
  std::int32_t chains = 0;
  for (std::int32_t first = 0; first < head.in_features; ++chains) {
    const std::int32_t end = head.format->segment_end(head, first);
    longest = std::max(longest, end - first);
    first = end;
  }
  return longest + chains;
}

// One output in int8: w = scale * code + what is left.
struct Int8Row {
  float scale = 0;
  float error = 0;
  float norm = 0;
};

Int8Row int8_row(std::span<const float> values, std::int8_t* codes) {
  const auto in = static_cast<std::int32_t>(values.size());
  const float* w = values.data();
  std::fill(codes, codes + in, std::int8_t{0});
  const double norm = std::sqrt(sum_of_squares(in, [&](auto k) { return wide(w[k]); }));
  if (!(norm <= kMostNorm)) return {0, kInfinity, 0};  // nothing is known of it
  Int8Row made;
  if (norm >= kLeastNorm) {
    float most = 0;
    for (const float value : values) most = std::max(most, std::fabs(value));
    made.scale = most / 127;
    const float inverse = 1 / made.scale;
    for (std::int32_t k = 0; k < in; ++k) {
      constexpr float kBig = 0x1.8p23F;  // rounds to integers, as two additions
      const float code = (w[k] * inverse + kBig) - kBig;
      codes[k] = static_cast<std::int8_t>(std::min(std::max(code, -127.0F), 127.0F));
    }
  }
  const double error = std::sqrt(sum_of_squares(
      in, [&](auto k) { return wide(w[k]) - wide(made.scale) * static_cast<double>(codes[k]); }));
  made.error = rounded_up(error + in * kDenormal);
  made.norm = rounded_up(norm + error + in * kDenormal);
  return made;
}

// A row of activations that round_row made.
struct RoundedView {
  RoundedView(const std::byte* row, std::int32_t in)
      : scale(wide(*static_cast<const float*>(static_cast<const void*>(row)))),
        codes(static_cast<const std::int8_t*>(
            static_cast<const void*>(row + rounded_row(in, in).codes))) {}
  double at(std::int32_t k) const { return scale * static_cast<double>(codes[k]); }
  double scale;
  const std::int8_t* codes;
};

}  // namespace

struct HeadFilter::Shape {
  Shape(const KernelTable& table, const Weight& head, int workers)
      : threads(static_cast<std::size_t>(workers)),
        in(static_cast<std::size_t>(head.in_features)),
        panels(static_cast<std::size_t>(panel_count(head.out_features))),
        packed(int8_kernel(table).packed_bytes(int8_shape(head.out_features, head.in_features))),
        rounded(rounded_row(head.in_features, head.in_features).bytes) {}
  std::size_t threads;
  std::size_t in;
  std::size_t panels;
  std::size_t packed;
  std::size_t rounded;
};

bool HeadFilter::takes(const KernelTable& table, const Weight& head, HeadFilterUse use) {
  const std::size_t element = head.format->element_bytes;
  if (use == HeadFilterUse::kNever || element == 0 || head.in_features > kMostInputs) return false;
  if (use == HeadFilterUse::kAlways) return true;
  const std::size_t bytes = element * static_cast<std::size_t>(head.out_features) *
                            static_cast<std::size_t>(head.in_features);
  return table.filter_rows > 0 && bytes >= kLeastBytes;
}

std::size_t HeadFilter::bytes(const KernelTable& table, const Weight& head, int threads) {
  const Shape shape(table, head, threads);
  const std::size_t sums = shape.threads * 2 * kRows * kBlockSums;
  const std::size_t floats =
      2 * shape.panels * kLanes + shape.in + sums + kRows * shape.panels + kRows * shape.threads;
  return shape.packed + 2 * kRows * shape.rounded + floats * sizeof(float) +
         shape.panels * sizeof(std::int32_t);
}

HeadFilter::HeadFilter(const KernelTable& table, const Weight& head, ThreadPool& pool)
    : table_(table),
      kernel_(int8_kernel(table)),
      in_(head.in_features),
      out_(head.out_features),
      panels_(panel_count(head.out_features)),
      roundings_(roundings(head)) {
  const Shape shape(table, head, pool.threads());
  packed_ = allocate_host(shape.packed);
  panel_bytes_ = kernel_.packed_bytes(int8_shape(kLanes, in_));
  errors_.resize(shape.panels * kLanes);
  norms_.resize(shape.panels * kLanes);
  rounded_bytes_ = shape.rounded;
  rounded_ = allocate_host(2 * kRows * shape.rounded);
  rest_.resize(shape.in);
  margins_.resize(kRows);
  sums_.resize(shape.threads * 2 * kRows * kBlockSums);
  highest_.resize(kRows * shape.panels);
  floors_.resize(shape.threads * kRows);
  found_.reserve(shape.panels);
  pool.parallel_for(panels_, 1,
                    [&](std::int64_t first, std::int64_t last, int) { encode(head, first, last); });
}

std::size_t HeadFilter::read_bytes() const {
  return packed_.size() + (errors_.size() + norms_.size()) * sizeof(float);
}

void HeadFilter::encode(const Weight& head, std::int64_t first_panel, std::int64_t last_panel) {
  const auto in = static_cast<std::size_t>(in_);
  std::vector<float> values(in);
  std::vector<std::int8_t> codes(kLanes * in);
  std::array<float, kLanes> scales{};
  for (std::int64_t panel = first_panel; panel < last_panel; ++panel) {
    const auto row = static_cast<std::int32_t>(panel * kLanes);
    const std::int32_t rows = std::min(kLanes, out_ - row);
    for (std::int32_t r = 0; r < rows; ++r) {
      head.format->decode_row(head, row + r, values);
      const Int8Row made = int8_row(values, codes.data() + static_cast<std::size_t>(r) * in);
      scales[static_cast<std::size_t>(r)] = made.scale;
      errors_[static_cast<std::size_t>(row + r)] = made.error;
      norms_[static_cast<std::size_t>(row + r)] = made.norm;
    }
    Weight weight = int8_shape(rows, in_);
    weight.planes[0] = std::as_bytes(std::span(codes));
    weight.planes[1] = std::as_bytes(std::span(scales));
    kernel_.pack(weight, 0, 1, packed_.data() + static_cast<std::size_t>(panel) * panel_bytes_);
  }
}

// Makes the two int8 rows of a row of x and its margin.
bool HeadFilter::round(const float* x, std::int64_t row) {
  const double norm = std::sqrt(sum_of_squares(in_, [&](auto k) { return wide(x[k]); }));
  if (!is_ordinary(norm)) return false;
  std::byte* first = rounded_.data() + static_cast<std::size_t>(2 * row) * rounded_bytes_;
  std::byte* second = first + rounded_bytes_;
  table_.round_row(x, in_, in_, first);
  const RoundedView one(first, in_);
  float* rest = rest_.data();
  for (std::int32_t k = 0; k < in_; ++k) rest[k] = static_cast<float>(wide(x[k]) - one.at(k));
  table_.round_row(rest, in_, in_, second);
  const RoundedView two(second, in_);
  const double rounded = std::sqrt(sum_of_squares(in_, [&](auto k) { return one.at(k); })) +
                         std::sqrt(sum_of_squares(in_, [&](auto k) { return two.at(k); }));
  const double left =
      std::sqrt(sum_of_squares(in_, [&](auto k) { return (wide(x[k]) - one.at(k)) - two.at(k); }));
  const double chain = roundings_ * kUnit / (1 - roundings_ * kUnit);
  const double lost = in_ * kDenormal;
  Margin& margin = margins_[static_cast<std::size_t>(row)];
  margin.by_error = rounded_up(norm);
  // The differences above are rounded in double, each by less than 2^-52 of what it is of.
  margin.by_norm =
      rounded_up(left + 0x1p-48 * (norm + rounded) + chain * norm + 8 * kUnit * rounded + lost);
  margin.always = rounded_up(lost * (1 + norm));
  return true;
}

float* HeadFilter::sums_of(int worker) {
  return sums_.data() + static_cast<std::size_t>(worker) * 2 * kRows * kBlockSums;
}

// The sums of both int8 rows of each row, kBlockSums apart. Outputs that do not exist are below
// all others.
void HeadFilter::run_block(std::int64_t first_panel, std::int64_t panels, std::int64_t rows,
                           float* sums, std::byte* scratch) {
  const std::int64_t outputs = std::min(panels * kLanes, out_ - first_panel * kLanes);
  LinearCall call;
  call.packed = packed_.data() + static_cast<std::size_t>(first_panel) * panel_bytes_;
  call.in_features = in_;
  call.out_features = static_cast<std::int32_t>(outputs);
  call.group = in_;
  call.rounded = rounded_.data();
  call.rounded_stride = static_cast<std::int64_t>(rounded_bytes_);
  call.rows = 2 * rows;
  call.y = sums;
  call.y_stride = kBlockSums;
  call.panels = panels;
  call.scratch = scratch;
  kernel_.run(call);
  for (std::int64_t r = 0; r < call.rows; ++r) {
    std::fill(sums + r * kBlockSums + outputs, sums + r * kBlockSums + panels * kLanes,
              r % 2 == 0 ? -kInfinity : 0.0F);
  }
}

void HeadFilter::bound_panel(std::int64_t row, std::int64_t panel, const float* sums, float* least,
                             float* most) const {
  const Margin margin = margins_[static_cast<std::size_t>(row)];
  const float* errors = errors_.data() + panel * kLanes;
  const float* norms = norms_.data() + panel * kLanes;
  for (std::int32_t lane = 0; lane < kLanes; ++lane) {
    const float middle = sums[lane] + sums[lane + kBlockSums];
    const float width =
        (margin.by_error * errors[lane] + margin.by_norm * norms[lane]) + margin.always;
    least[lane] = middle - width;
    most[lane] = middle + width;
  }
}

void HeadFilter::scan(std::int64_t first_panel, std::int64_t last_panel, std::int64_t rows,
                      int worker, std::byte* scratch) {
  float* sums = sums_of(worker);
  for (std::int64_t block = first_panel; block < last_panel; block += kBlockPanels) {
    const std::int64_t count = std::min(kBlockPanels, last_panel - block);
    run_block(block, count, rows, sums, scratch);
    for (std::int64_t r = 0; r < rows; ++r) {
      std::array<float, kLanes> least;
      std::array<float, kLanes> most;
      std::array<float, kLanes> floor;
      floor.fill(-kInfinity);
      float* highest = highest_.data() + r * panels_;
      for (std::int64_t p = 0; p < count; ++p) {
        bound_panel(r, block + p, sums + 2 * r * kBlockSums + p * kLanes, least.data(),
                    most.data());
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          floor[lane] = least[lane] > floor[lane] ? least[lane] : floor[lane];
        for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
          for (std::size_t lane = 0; lane < half; ++lane)
            most[lane] = most[lane] > most[lane + half] ? most[lane] : most[lane + half];
        }
        highest[block + p] = most[0];
      }
      float& known = floors_[static_cast<std::size_t>(worker * kRows + r)];
      known = std::max(known, *std::max_element(floor.begin(), floor.end()));
    }
  }
}

std::span<const std::int32_t> HeadFilter::candidates(const float* x, std::int64_t x_stride,
                                                     std::int64_t rows, ThreadPool& pool,
                                                     std::byte* scratch) {
  check(rows <= kRows, "so many rows are filtered together");
  found_.clear();
  for (std::int64_t r = 0; r < rows; ++r)
    if (!round(x + r * x_stride, r)) return {};
  std::fill(floors_.begin(), floors_.end(), -kInfinity);
  pool.parallel_for(panels_, kStreamPanels, [&](std::int64_t first, std::int64_t last, int worker) {
    scan(first, last, rows, worker,
         scratch + kLinearScratchBytes * static_cast<std::size_t>(worker));
  });
  std::array<float, kRows> floor;
  floor.fill(-kInfinity);
  for (std::size_t i = 0; i < floors_.size(); ++i)
    floor[i % kRows] = std::max(floor[i % kRows], floors_[i]);
  for (std::int64_t p = 0; p < panels_; ++p) {
    bool wanted = false;
    for (std::int64_t r = 0; r < rows; ++r)
      wanted |=
          highest_[static_cast<std::size_t>(r * panels_ + p)] >= floor[static_cast<std::size_t>(r)];
    if (wanted) found_.push_back(static_cast<std::int32_t>(p));
  }
  if (static_cast<std::int64_t>(found_.size()) * kMostShare > panels_) return {};
  return found_;
}

bool HeadFilter::intervals(const float* x, std::span<float> least, std::span<float> most) {
  check(least.size() == static_cast<std::size_t>(out_) && most.size() == least.size(),
        "every output has an interval");
  if (!round(x, 0)) return false;
  std::array<float, kLanes> from;
  std::array<float, kLanes> to;
  for (std::int64_t panel = 0; panel < panels_; ++panel) {
    run_block(panel, 1, 1, sums_of(0), nullptr);  // streamed rows need no scratch
    bound_panel(0, panel, sums_of(0), from.data(), to.data());
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(kLanes, out_ - panel * kLanes));
    std::copy_n(from.begin(), count, least.begin() + panel * kLanes);
    std::copy_n(to.begin(), count, most.begin() + panel * kLanes);
  }
  return true;
}

}  // namespace verbatim
