// The definitions of weights/format.h in plain loops.
#include "weights/rounded_row.h"

#include <algorithm>
#include <cmath>

namespace verbatim {
namespace {

void round_evenly(std::span<float> row) {
  float most = 0;
  for (const float value : row) most = std::max(most, std::fabs(value));
  const float scale = most == 0 ? 0x1p-23F : most / 127.5F;
  for (float& value : row)
    value = std::nearbyint(std::clamp(value / scale, -128.0F, 127.0F)) * scale;
}

void round_asymmetrically(std::span<float> row) {
  float low = 0, high = 0;
  for (const float value : row) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float scale = std::max((high - low) / 255, 0x1p-23F);
  const float zero = std::clamp(-128 - std::nearbyint(low / scale), -128.0F, 127.0F);
  const float inverse = 1 / scale;
  for (float& value : row) {
    const float code = std::clamp(std::nearbyint(value * inverse) + zero, -128.0F, 127.0F);
    value = (code - zero) * scale;
  }
}

}  // namespace

void round_as(Activations activations, std::span<float> row) {
  switch (activations) {
    case Activations::kFloat:
      return;
    case Activations::kInt8PerRow:
      return round_evenly(row);
    case Activations::kInt8Asymmetric:
      return round_asymmetrically(row);
  }
}

}  // namespace verbatim
