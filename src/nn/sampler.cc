// Temperature and nucleus sampling in double.
#include "nn/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/math.h"

namespace verbatim {

RandomBits::RandomBits(std::uint64_t seed) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  state_ = z ^ (z >> 31);
}

std::uint32_t RandomBits::next() {
  const std::uint64_t old = state_;
  state_ = old * 6364136223846793005U + 1442695040888963407U;
  const auto shifted = static_cast<std::uint32_t>(((old >> 18) ^ old) >> 27);
  return std::rotr(shifted, static_cast<int>(old >> 59));
}

double RandomBits::uniform() {
  const std::uint64_t high = next() >> 5;
  const std::uint64_t low = next() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

double RandomBits::normal() {
  constexpr double kTwoPi = 6.283185307179586477;
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * math_log(1.0 - uniform()));
  const double angle = kTwoPi * uniform();
  spare_ = radius * math_sin(angle);
  has_spare_ = true;
  return radius * math_cos(angle);
}

Sampler::Sampler(double temperature, double top_p, std::uint64_t seed)
    : temperature_(temperature), top_p_(top_p), random_(seed) {
  check(temperature > 0 && top_p > 0 && top_p <= 1, "a sampler has a temperature and a nucleus");
}

std::int32_t Sampler::draw(std::span<const float> logits) {
  const auto logit = [&](std::int32_t token) {
    const float value = logits[static_cast<std::size_t>(token)];
    return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
  };
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) {
    const float x = logit(a);
    const float y = logit(b);
    return x > y || (x == y && a < b);
  });
  const double top = static_cast<double>(logit(order_[0]));
  if (!std::isfinite(top)) return order_[0];
  weights_.resize(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    weights_[i] = math_exp((static_cast<double>(logit(order_[i])) - top) / temperature_);
    sum += weights_[i];
  }
  double nucleus = 0;
  std::size_t kept = 0;
  while (kept < weights_.size() && nucleus < top_p_ * sum) nucleus += weights_[kept++];
  double left = random_.uniform() * nucleus;
  for (std::size_t i = 0; i < kept; ++i) {
    left -= weights_[i];
    if (left < 0) return order_[i];
  }
  return order_[kept - 1];
}

}  // namespace verbatim
