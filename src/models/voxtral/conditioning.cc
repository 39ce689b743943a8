// Computed once, at load, in double; the embedding rounds where the reference does.
#include "models/voxtral/conditioning.h"

#include "base/math.h"
#include "weights/rounded_row.h"

namespace verbatim::voxtral {
namespace {

constexpr double kLogTheta = 9.210340371976182736;  // ln 10000

double gelu(double x) {
  return x * 0.5 * (1 + math_erf(x * 0.70710678118654752440));
}

double dot(std::span<const float> x, const float* y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

}  // namespace

std::vector<float> time_embedding(std::int32_t delay_tokens, std::int32_t hidden) {
  const std::int32_t half = hidden / 2;
  std::vector<float> embedding(static_cast<std::size_t>(hidden));
  for (std::int32_t i = 0; i < half; ++i) {
    const auto frequency = static_cast<float>(math_exp(-kLogTheta * i / half));
    const float angle = static_cast<float>(delay_tokens) * frequency;
    embedding[static_cast<std::size_t>(i)] =
        static_cast<float>(math_cos(static_cast<double>(angle)));
    embedding[static_cast<std::size_t>(half + i)] =
        static_cast<float>(math_sin(static_cast<double>(angle)));
  }
  return embedding;
}

std::vector<float> delay_scale(std::span<const float> embedding, std::span<const float> down,
                               std::span<const float> up, Activations activations) {
  const std::size_t hidden = embedding.size();
  const std::size_t bottleneck = down.size() / hidden;
  std::vector<float> input(embedding.begin(), embedding.end());
  round_as(activations, input);
  std::vector<float> inner(bottleneck);
  for (std::size_t b = 0; b < bottleneck; ++b)
    inner[b] = static_cast<float>(gelu(dot(input, down.data() + b * hidden)));
  round_as(activations, inner);
  std::vector<float> scale(hidden);
  for (std::size_t i = 0; i < hidden; ++i)
    scale[i] = static_cast<float>(1 + dot(inner, up.data() + i * bottleneck));
  return scale;
}

}  // namespace verbatim::voxtral
