// Computed once, at load, in double; the embedding rounds where the reference does.
#include "models/voxtral/conditioning.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

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

// The values that codes of kInt8Asymmetric stand for.
void round_asymmetrically(std::span<float> row) {
  float low = 0;
  float high = 0;
  for (const float x : row) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const float scale = std::max((high - low) / 255.0F, 0x1p-23F);
  const float zero = std::clamp(-128.0F - std::nearbyint(low / scale), -128.0F, 127.0F);
  const float inverse = 1.0F / scale;
  for (float& x : row) {
    const float code = std::clamp(std::nearbyint(x * inverse) + zero, -128.0F, 127.0F);
    x = (code - zero) * scale;
  }
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
  const bool rounds = activations == Activations::kInt8Asymmetric;
  const std::size_t hidden = embedding.size();
  const std::size_t bottleneck = down.size() / hidden;
  std::vector<float> input(embedding.begin(), embedding.end());
  if (rounds) round_asymmetrically(input);
  std::vector<float> inner(bottleneck);
  for (std::size_t b = 0; b < bottleneck; ++b)
    inner[b] = static_cast<float>(gelu(dot(input, down.data() + b * hidden)));
  if (rounds) round_asymmetrically(inner);
  std::vector<float> scale(hidden);
  for (std::size_t i = 0; i < hidden; ++i)
    scale[i] = static_cast<float>(1 + dot(inner, up.data() + i * bottleneck));
  return scale;
}

}  // namespace verbatim::voxtral
