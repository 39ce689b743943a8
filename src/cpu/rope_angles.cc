// The angle beyond float32 is a product carried in two doubles, so that no position loses a bit.
#include "cpu/rope_angles.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace verbatim {
namespace {

constexpr std::int64_t kFloatAngles = 131072;  // below it angles are float32 products

}  // namespace

void rope_angles(std::int64_t position, std::span<const float> frequencies, float* cos,
                 float* sin) {
  for (std::size_t f = 0; f < frequencies.size(); ++f) {
    if (position < kFloatAngles) {
      const auto angle = static_cast<double>(static_cast<float>(position) * frequencies[f]);
      cos[f] = static_cast<float>(math_cos(angle));
      sin[f] = static_cast<float>(math_sin(angle));
      continue;
    }
    const auto whole = static_cast<double>(position);
    const auto frequency = static_cast<double>(frequencies[f]);
    const double angle = whole * frequency;
    const double c = math_cos(angle);
    const double s = math_sin(angle);
    // What the product lost: nothing below position 2^29, and never more than 2^-14.
    const double rest = std::fma(whole, frequency, -angle);
    const double rest_cos = math_cos(rest);
    const double rest_sin = math_sin(rest);
    cos[f] = static_cast<float>(c * rest_cos - s * rest_sin);
    sin[f] = static_cast<float>(s * rest_cos + c * rest_sin);
  }
}

const float* RopeAngles::at(std::int64_t row, std::int64_t position) {
  const std::size_t half = frequencies_.size();
  float* cos = values_.data() + static_cast<std::size_t>(row) * 2 * half;
  std::int64_t& held = positions_[static_cast<std::size_t>(row)];
  if (held != position) {
    held = position;
    rope_angles(position, frequencies_, cos, cos + half);
  }
  return cos;
}

RopeAngles& RopeCache::of(std::span<const float> frequencies, std::int64_t rows) {
  const auto same = [&](const RopeAngles& held) {
    return std::ranges::equal(held.frequencies_, frequencies);
  };
  auto found = std::ranges::find_if(tables_, same);
  if (found == tables_.end()) {
    found = tables_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ = (next_ + 1) % kTables;
    found->frequencies_.assign(frequencies.begin(), frequencies.end());
    found->positions_.clear();
  }
  const auto wanted = static_cast<std::size_t>(rows);
  if (found->positions_.size() < wanted) {
    found->positions_.resize(wanted, -1);
    found->values_.resize(wanted * 2 * frequencies.size());
  }
  return *found;
}

}  // namespace verbatim
