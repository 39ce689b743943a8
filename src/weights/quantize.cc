// Scales first, then codes; both row by row.
#include "weights/quantize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "tensor/half.h"
#include "weights/stored_parts.h"

namespace verbatim {
namespace {

constexpr std::int32_t kLeastGroup = 32;
constexpr std::int32_t kNf4Block = 64;
constexpr float kLeastScale = 0x1p-23F;
constexpr int kMostSteps = 20;
constexpr float kSettled = 1e-5F;

// The float32 values that bitsandbytes writes as quant_map.
constexpr std::array<float, 16> kNf4Book{-1.0F,        -0.6961928F,  -0.52507305F,  -0.39491749F,
                                         -0.28444138F, -0.18477343F, -0.091050036F, 0.0F,
                                         0.0795803F,   0.1609302F,   0.2461123F,    0.33791524F,
                                         0.44070983F,  0.562617F,    0.72295684F,   1.0F};

struct CodeRange {
  float low;
  float high;
};

bool is_nibbles(const WeightFormat& format) {
  return &format == &kFormatNf4 || &format == &kFormatInt4 || &format == &kFormatW4A8 ||
         &format == &kFormat8da4w;
}

CodeRange range_of(const WeightFormat& format) {
  return is_nibbles(format) ? CodeRange{-8, 7} : CodeRange{-128, 127};
}

// The nearest integer, halves to even, of |value| below 2^22; unlike a call of rint it is two
// additions that a compiler makes vectors of.
float nearest(float value) {
  constexpr float kBig = 0x1.8p23F;
  return (value + kBig) - kBig;
}

float code_of(float value, CodeRange range) {
  return nearest(std::min(std::max(value, range.low), range.high));
}

float rounded(float value, const WeightFormat& source) {
  if (&source == &kFormatF16) return from_f16(to_f16(value));
  if (&source == &kFormatBF16) return from_bf16(to_bf16(value));
  return value;
}

float largest(std::span<const float> values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::fabs(value));
  return most;
}

bool are_finite(std::span<const float> values) {
  bool all = true;
  for (const float value : values) all = all && std::fabs(value) <= FLT_MAX;
  return all;
}

class Quantizer {
 public:
  Quantizer(const Weight& dense, const WeightChoice& choice, const std::string& name,
            WeightStorage& storage, ThreadPool* workers)
      : dense_(dense),
        recipe_(*choice.recipe),
        name_(name),
        workers_(workers),
        made_(quantized_shape(dense, choice, name)),
        in_(static_cast<std::size_t>(made_.in_features)),
        group_(static_cast<std::size_t>(made_.group)),
        row_groups_((in_ + group_ - 1) / group_),
        row_bytes_(is_nibbles(*made_.format) ? (in_ + 1) / 2 : in_),
        range_(range_of(*made_.format)),
        scales_(take_plane<float>(storage,
                                  dense.out_features * static_cast<std::int64_t>(row_groups_))),
        codes_(take_plane<std::uint8_t>(
            storage, dense.out_features * static_cast<std::int64_t>(row_bytes_))) {
    if (recipe_.rule == ScaleRule::kLargest) {
      book_ = take_plane<float>(storage, static_cast<std::int64_t>(kNf4Book.size()));
      std::copy(kNf4Book.begin(), kNf4Book.end(), book_.begin());
    }
  }

  Weight make() {
    first_scales();
    if (recipe_.rule == ScaleRule::kLargest) join_blocks();
    if (recipe_.rule == ScaleRule::kLeastSquares) settle_scales();
    if (recipe_.scales_as_source) {
      for (float& scale : scales_) scale = stored_scale(scale);
    }
    each_row([&](std::int64_t row, std::span<const float> values, int) {
      write_codes(values, scales_.subspan(static_cast<std::size_t>(row) * row_groups_, row_groups_),
                  codes_.subspan(static_cast<std::size_t>(row) * row_bytes_, row_bytes_));
    });
    made_.planes = {std::as_bytes(codes_), std::as_bytes(scales_), std::as_bytes(book_), {}};
    return made_;
  }

 private:
  template <typename Body>
  void each_row(const Body& body) {
    in_parallel(workers_, dense_.out_features,
                [&](std::int64_t first, std::int64_t last, int worker) {
                  std::vector<float> values(in_);
                  for (std::int64_t row = first; row < last; ++row) {
                    dense_.format->decode_row(dense_, static_cast<std::int32_t>(row), values);
                    body(row, std::span<const float>(values), worker);
                  }
                });
  }

  std::span<const float> of_group(std::span<const float> row, std::size_t group) const {
    return row.subspan(group * group_, std::min(group_, row.size() - group * group_));
  }

  void first_scales() {
    std::atomic<std::int64_t> bad{INT64_MAX};
    each_row([&](std::int64_t row, std::span<const float> values, int) {
      if (!are_finite(values)) {
        std::int64_t known = bad;
        while (row < known && !bad.compare_exchange_weak(known, row)) {
        }
        return;
      }
      float* scales = scales_.data() + static_cast<std::size_t>(row) * row_groups_;
      for (std::size_t g = 0; g < row_groups_; ++g)
        scales[g] = first_scale(largest(of_group(values, g)));
    });
    if (bad == INT64_MAX) return;
    fail(Code::kCorrupt, "%s.weight: row %lld holds a value that is not finite", name_.c_str(),
         static_cast<long long>(bad));
  }

  float first_scale(float most) const {
    switch (recipe_.rule) {
      case ScaleRule::kLargest:
        return most;
      case ScaleRule::kHalfRange:
        return std::max(most / ((range_.high - range_.low) / 2), kLeastScale);
      case ScaleRule::kLeastSquares:
        return std::max(most / -range_.low, kLeastScale);
    }
    return most;
  }

  // A scale too small for the source's type must not become nought.
  float stored_scale(float scale) const {
    const float stored = rounded(scale, *dense_.format);
    return stored > 0 && stored <= FLT_MAX ? stored : scale;
  }

  // A block may begin in one row and end in the next; each group has the part of one block.
  void join_blocks() {
    const std::size_t parts = static_cast<std::size_t>(kNf4Block) / group_;
    for (std::size_t block = 0; block < scales_.size(); block += parts) {
      const auto here = scales_.subspan(block, std::min(parts, scales_.size() - block));
      std::fill(here.begin(), here.end(), *std::max_element(here.begin(), here.end()));
    }
  }

  void settle_scales() {
    std::vector<float> changes(workers_ == nullptr ? 1
                                                   : static_cast<std::size_t>(workers_->threads()));
    for (int step = 0; step < kMostSteps; ++step) {
      std::fill(changes.begin(), changes.end(), 0.0F);
      each_row([&](std::int64_t row, std::span<const float> values, int worker) {
        float& most = changes[static_cast<std::size_t>(worker)];
        float* scales = scales_.data() + static_cast<std::size_t>(row) * row_groups_;
        for (std::size_t g = 0; g < row_groups_; ++g) {
          const float better = least_squares(of_group(values, g), scales[g]);
          most = std::max(most, std::fabs(better - scales[g]) / std::max(scales[g], kLeastScale));
          scales[g] = better;
        }
      });
      if (*std::max_element(changes.begin(), changes.end()) < kSettled) return;
    }
  }

  // Eight sums side by side, so that the loop needs no order of its own.
  float least_squares(std::span<const float> values, float scale) const {
    std::array<float, 8> products{}, squares{};
    std::size_t k = 0;
    for (; k + 8 <= values.size(); k += 8) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        const float code = code_of(values[k + lane] / scale, range_);
        products[lane] += values[k + lane] * code;
        squares[lane] += code * code;
      }
    }
    for (std::size_t lane = 0; k < values.size(); ++k, ++lane) {
      const float code = code_of(values[k] / scale, range_);
      products[lane] += values[k] * code;
      squares[lane] += code * code;
    }
    const float product = std::accumulate(products.begin(), products.end(), 0.0F);
    const float square = std::accumulate(squares.begin(), squares.end(), 0.0F);
    return square == 0 ? scale : std::max(product / square, kLeastScale);
  }

  void write_codes(std::span<const float> values, std::span<const float> scales,
                   std::span<std::uint8_t> to) const {
    const bool nibbles = is_nibbles(*made_.format);
    for (std::size_t g = 0; g < row_groups_; ++g) {
      const std::span<const float> group = of_group(values, g);
      const float inverse = scales[g] > 0 ? 1 / scales[g] : 0;
      for (std::size_t i = 0; i < group.size(); ++i) {
        const std::size_t place = g * group_ + i;
        if (nibbles) {
          const std::uint32_t code = nibble_of(group[i], scales[g], inverse);
          to[place / 2] = static_cast<std::uint8_t>(to[place / 2] | code << (place % 2 * 4));
        } else {
          to[place] = static_cast<std::uint8_t>(integer_of(group[i], scales[g], inverse));
        }
      }
    }
  }

  std::uint32_t nibble_of(float value, float scale, float inverse) const {
    if (recipe_.rule != ScaleRule::kLargest)
      return static_cast<std::uint32_t>(integer_of(value, scale, inverse) + 8);
    const float share = std::min(std::max(value * inverse, -1.0F), 1.0F);
    std::uint32_t code = 0;
    for (std::size_t i = 0; i + 1 < kNf4Book.size(); ++i)
      code += (kNf4Book[i] + kNf4Book[i + 1]) * 0.5F < share ? 1 : 0;
    return code;
  }

  // Where a scale was settled by dividing, codes are made by dividing.
  std::int32_t integer_of(float value, float scale, float inverse) const {
    const float share = recipe_.rule == ScaleRule::kLeastSquares ? value / scale : value * inverse;
    return static_cast<std::int32_t>(code_of(share, range_));
  }

  const Weight& dense_;
  const Recipe& recipe_;
  const std::string& name_;
  ThreadPool* workers_;
  Weight made_;
  std::size_t in_;
  std::size_t group_;
  std::size_t row_groups_;
  std::size_t row_bytes_;
  CodeRange range_;
  std::span<float> scales_;
  std::span<std::uint8_t> codes_;
  std::span<float> book_;
};

}  // namespace

std::int32_t fitting_group(const WeightChoice& choice, std::int32_t in) {
  // Blocks run on from row to row: what never straddles one is a common divisor.
  if (choice.recipe->rule == ScaleRule::kLargest) return std::gcd(kNf4Block, in);
  if (choice.group == 0 || choice.group >= in) return in;
  const std::int32_t common = std::gcd(choice.group, in);
  return common >= kLeastGroup ? common : in;
}

Weight quantized_shape(const Weight& dense, const WeightChoice& choice, const std::string& name) {
  if (dense.format->element_bytes == 0) {
    fail(Code::kInvalidArgument, "--quant %s: %s is stored in %s already", choice.text().c_str(),
         name.c_str(), dense.format->name);
  }
  Weight shape;
  shape.format = choice.recipe->format;
  shape.out_features = dense.out_features;
  shape.in_features = dense.in_features;
  shape.group = fitting_group(choice, dense.in_features);
  return shape;
}

Weight quantize(const Weight& dense, const WeightChoice& choice, const std::string& name,
                WeightStorage& storage, ThreadPool* workers) {
  return Quantizer(dense, choice, name, storage, workers).make();
}

}  // namespace verbatim
