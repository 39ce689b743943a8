// Any whole rate to any other: a windowed sinc evaluated at each output's own place.
// out[t] = sum over k of in[k] h(t M / L - k), L / M = out / in in lowest terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

// The sinc is cut at 0.9565 of the lower Nyquist frequency and windowed by Kaiser's, so that it is
// flat to 0.913 and below -110 dB from 1.0 of it (measured in resampler_test.cc). Linear phase and
// no delay: out[t] lies at the time of in[t M / L]. ceil(n L / M) samples come of n. Every output
// is one sum in float over sixteen partial sums in a fixed order: no bit depends on the blocks.
class Resampler {
 public:
  // Rates from 1 to 768000 Hz. A table of at most about 4 MiB is made.
  Resampler(std::int32_t in_hz, std::int32_t out_hz);

  void push(std::span<const float> samples);
  void finish();  // no more samples will come: what follows the last is silence
  // What can be told by now, up to block.size() samples; 0: push more, or all is out.
  std::size_t pull(std::span<float> block);

 private:
  float at_phase(const float* samples) const;

  std::int64_t up_ = 1;      // L
  std::int64_t down_ = 1;    // M
  std::int64_t phases_ = 1;  // rows of the table: L, or a grid that is interpolated
  std::int64_t taps_ = 0;    // a multiple of 16
  std::vector<float> table_;

  std::vector<float> history_;
  std::size_t first_ = 0;    // of history_: the first tap of the next output
  std::int64_t phase_ = 0;   // of the next output, in 1/L of an input sample
  std::int64_t pushed_ = 0;  // samples
  std::int64_t given_ = 0;   // outputs
  bool is_finished_ = false;
};

}  // namespace verbatim
