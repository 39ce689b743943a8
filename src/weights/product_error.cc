// Both products by decoded rows: what kernels are tested against, up to the order of their sums,
// which is some 1e-7 of y.
#include "weights/product_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "weights/quantize.h"
#include "weights/rounded_row.h"
#include "weights/stored_parts.h"

namespace verbatim {
namespace {

// Eight sums side by side, so that the loop needs no order of its own.
double dot(std::span<const float> a, std::span<const float> b) {
  std::array<float, 8> sums{};
  std::size_t i = 0;
  for (; i + 8 <= a.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (std::size_t lane = 0; i < a.size(); ++i, ++lane) sums[lane] += a[i] * b[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::vector<float> entering(std::span<const float> rows, std::size_t in, const Scaling& scaling,
                            Activations activations) {
  std::vector<float> made(rows.begin(), rows.end());
  for (std::size_t at = 0; at < made.size(); at += in) {
    const std::span<float> row = std::span(made).subspan(at, in);
    for (std::size_t i = 0; i < scaling.columns.size(); ++i) row[i] /= scaling.columns[i];
    round_as(activations, row);
  }
  return made;
}

}  // namespace

double product_error(const Weight& stored, const WeightChoice& choice, const Scaling& scaling,
                     std::span<const float> rows, const std::string& name, ThreadPool* workers) {
  const auto in = static_cast<std::size_t>(stored.in_features);
  check(rows.size() % in == 0, "rows are whole");
  WeightStorage storage;
  Weight made = stored;
  if (!scaling.empty()) made = scaled_weight(stored, scaling, storage, workers);
  made = quantize(made, choice, name, storage, workers);
  const std::vector<float> rounded = entering(rows, in, scaling, made.format->activations);

  // By output, so that who computes one changes no bit.
  std::vector<double> errors(static_cast<std::size_t>(stored.out_features));
  std::vector<double> sizes(errors.size());
  const auto look = [&](std::int64_t first, std::int64_t last, int) {
    std::vector<float> exact(in);
    std::vector<float> coded(in);
    for (std::int64_t o = first; o < last; ++o) {
      const auto at = static_cast<std::size_t>(o);
      stored.format->decode_row(stored, static_cast<std::int32_t>(o), exact);
      made.format->decode_row(made, static_cast<std::int32_t>(o), coded);
      const double back = scaling.rows.empty() ? 1.0 : static_cast<double>(scaling.rows[at]);
      for (std::size_t r = 0; r < rows.size(); r += in) {
        const double y = dot(rows.subspan(r, in), exact);
        const double difference =
            dot(std::span<const float>(rounded).subspan(r, in), coded) * back - y;
        errors[at] += difference * difference;
        sizes[at] += y * y;
      }
    }
  };
  in_parallel(workers, stored.out_features, look);
  const double error = std::accumulate(errors.begin(), errors.end(), 0.0);
  const double size = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  return size > 0 ? std::sqrt(error / size) : 0;
}

}  // namespace verbatim
