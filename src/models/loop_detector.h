// Sees that a model has begun to repeat itself.
#pragma once

#include <array>
#include <cstdint>

namespace verbatim {

// Sees a repetition: a period of p tokens, p up to 64, said max(6, ceil(96 / p)) times on end.
class LoopDetector {
 public:
  bool push(std::int32_t token);  // true once the last tokens are such a repetition
  std::int32_t period() const { return period_; }

 private:
  static constexpr std::int32_t kLongest = 64;
  std::array<std::int32_t, kLongest> last_{};  // a ring of the last tokens
  std::array<std::int32_t, kLongest + 1> run_{};
  std::int64_t count_ = 0;
  std::int32_t period_ = 0;
};

}  // namespace verbatim
