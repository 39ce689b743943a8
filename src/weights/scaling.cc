// Exponents in place of logarithms: the factors are the same on every machine.
#include "weights/scaling.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/thread_pool.h"
#include "tensor/half.h"
#include "weights/stored_parts.h"

namespace verbatim {
namespace {

constexpr int kMostExponent = 8;

// Of the error's square. Above this the products of both nano checkpoints gained nothing.
constexpr double kWorthwhile = 0.7;

// k with 2^k next to sqrt(ratio): 2^(2k - 1) <= ratio < 2^(2k + 1).
std::optional<int> exponent_of(float input, float weight) {
  const double ratio = static_cast<double>(input) / static_cast<double>(weight);
  if (!(input > 0) || !(weight > 0) || !(ratio > 0) || !(ratio <= DBL_MAX)) return {};
  const int half = std::ilogb(ratio) + 1;
  return half >= 0 ? half / 2 : -((1 - half) / 2);
}

// The square of what rounding makes of a product, up to a factor that all scales share: the step of
// a row, a part of its largest value, meets all weights, and the step of the weights all values.
// `coarseness` is how much larger a part that one is.
double expected_error(std::span<const float> inputs, std::span<const float> weights,
                      std::span<const float> scales, double coarseness) {
  double most_input = 0, most_weight = 0, all_inputs = 0, all_weights = 0;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double input = static_cast<double>(inputs[i]) / static_cast<double>(scales[i]);
    const double weight = static_cast<double>(weights[i]) * static_cast<double>(scales[i]);
    most_input = std::max(most_input, input);
    most_weight = std::max(most_weight, weight);
    all_inputs += input * input;
    all_weights += weight * weight;
  }
  most_weight *= coarseness;
  return most_input * most_input * all_weights + most_weight * most_weight * all_inputs;
}

void store(float value, const WeightFormat& format, std::byte* to) {
  if (&format == &kFormatF32) {
    std::memcpy(to, &value, sizeof value);
  } else {
    const std::uint16_t bits = to_bf16(value);
    std::memcpy(to, &bits, sizeof bits);
  }
}

}  // namespace

std::vector<float> channel_scales(std::span<const float> inputs, std::span<const float> weights) {
  check(inputs.size() == weights.size(), "every feature has both ranges");
  std::vector<std::optional<int>> exponents(inputs.size());
  std::vector<int> known;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    exponents[i] = exponent_of(inputs[i], weights[i]);
    if (exponents[i]) known.push_back(*exponents[i]);
  }
  std::sort(known.begin(), known.end());
  const int middle = known.empty() ? 0 : known[(known.size() - 1) / 2];
  std::vector<float> scales(inputs.size(), 1.0F);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!exponents[i]) continue;
    scales[i] = std::ldexp(1.0F, std::clamp(*exponents[i] - middle, -kMostExponent, kMostExponent));
  }
  return scales;
}

std::vector<float> smoothing_scales(std::span<const float> inputs, std::span<const float> weights,
                                    const WeightFormat* format) {
  const bool nibbles = format == &kFormatW4A8 || format == &kFormat8da4w;
  const double coarseness = nibbles ? 127.5 / 7.5 : 1;
  const std::vector<float> ones(inputs.size(), 1.0F);
  std::vector<float> scales = channel_scales(inputs, weights);
  const double before = expected_error(inputs, weights, ones, coarseness);
  const double after = expected_error(inputs, weights, scales, coarseness);
  if (!(after < kWorthwhile * before)) scales.clear();
  return scales;
}

bool rounds_rows(const WeightChoice& choice) {
  return choice && choice.recipe->format->activations != Activations::kFloat;
}

std::string rounding_recipes() {
  std::string names;
  for (const Recipe& recipe : recipes()) {
    if (rounds_rows({&recipe, 0})) append_listed(names, recipe.name);
  }
  return names;
}

std::vector<float> column_maxima(const Weight& weight, ThreadPool* workers) {
  const auto in = static_cast<std::size_t>(weight.in_features);
  const auto parts = workers == nullptr ? 1 : static_cast<std::size_t>(workers->threads());
  std::vector<std::vector<float>> most(parts, std::vector<float>(in));
  in_parallel(workers, weight.out_features, [&](std::int64_t first, std::int64_t last, int worker) {
    std::vector<float>& here = most[static_cast<std::size_t>(worker)];
    std::vector<float> values(in);
    for (std::int64_t row = first; row < last; ++row) {
      weight.format->decode_row(weight, static_cast<std::int32_t>(row), values);
      for (std::size_t i = 0; i < in; ++i) here[i] = std::max(here[i], std::fabs(values[i]));
    }
  });
  for (std::size_t part = 1; part < parts; ++part) {
    for (std::size_t i = 0; i < in; ++i) most[0][i] = std::max(most[0][i], most[part][i]);
  }
  return std::move(most[0]);
}

Weight scaled_weight(const Weight& dense, const Scaling& scaling, WeightStorage& storage,
                     ThreadPool* workers) {
  const auto in = static_cast<std::size_t>(dense.in_features);
  const auto out = static_cast<std::size_t>(dense.out_features);
  check(dense.format->element_bytes > 0, "only what is dense is scaled");
  check(scaling.columns.empty() || scaling.columns.size() == in, "every column has a factor");
  check(scaling.rows.empty() || scaling.rows.size() == out, "every row has a factor");
  const WeightFormat& format = dense.format == &kFormatBF16 ? kFormatBF16 : kFormatF32;
  const std::size_t row_bytes = in * format.element_bytes;
  const std::span<std::byte> bytes =
      take_plane<std::byte>(storage, static_cast<std::int64_t>(out * row_bytes));
  in_parallel(workers, dense.out_features, [&](std::int64_t first, std::int64_t last, int) {
    std::vector<float> values(in);
    for (std::int64_t row = first; row < last; ++row) {
      dense.format->decode_row(dense, static_cast<std::int32_t>(row), values);
      const auto at = static_cast<std::size_t>(row);
      const float rows = scaling.rows.empty() ? 1.0F : 1.0F / scaling.rows[at];
      std::byte* to = bytes.data() + at * row_bytes;
      for (std::size_t i = 0; i < in; ++i, to += format.element_bytes) {
        const float columns = scaling.columns.empty() ? 1.0F : scaling.columns[i];
        store(values[i] * (columns * rows), format, to);
      }
    }
  });
  return dense_weight(format, bytes, dense.out_features, dense.in_features);
}

}  // namespace verbatim
