// Drawing a token from logits at a temperature, and standard normals, from a generator of our own
// that gives the same numbers everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

// PCG-XSH-RR 64/32 (O'Neill 2014), seeded through SplitMix64.
class RandomBits {
 public:
  explicit RandomBits(std::uint64_t seed);
  std::uint32_t next();
  double uniform();  // [0, 1) with 53 bits
  double normal();   // by Box-Muller, both values used

 private:
  std::uint64_t state_ = 0;
  double spare_ = 0;
  bool has_spare_ = false;
};

class Sampler {
 public:
  // temperature > 0; top_p in (0, 1].
  Sampler(double temperature, double top_p, std::uint64_t seed);
  // The nucleus is the smallest set of most probable tokens whose probabilities reach top_p; equal
  // logits are ordered by id. NaN counts as smallest, as it does for arg max.
  std::int32_t draw(std::span<const float> logits);

 private:
  double temperature_;
  double top_p_;
  RandomBits random_;
  std::vector<std::int32_t> order_;
  std::vector<double> weights_;
};

}  // namespace verbatim
