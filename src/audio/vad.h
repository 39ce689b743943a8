// Where somebody speaks: energy over an adaptive noise floor, with a hangover.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

struct Interval {
  double start_s = 0;
  double end_s = 0;
};

// Energy is the mean square over three frames of 20 ms; the floor is the least of it over the last
// three seconds. A level that stays (hum, noise, a tone, silence, an offset) is its own floor and
// no speech. Sums run in double, sample after sample: no result depends on the blocks.
class Vad {
 public:
  explicit Vad(std::int32_t sample_rate_hz);

  void push(std::span<const float> samples);
  void finish();                                 // ends an interval that is still open
  bool is_speech() const { return is_speech_; }  // at the end of what was pushed
  // Finished intervals [start, end) since the last call, in order.
  std::vector<Interval> take();

 private:
  void end_frame();

  double frame_s_;
  std::int64_t frame_samples_;
  double over_floor_;  // as ratios of energy
  double least_energy_;

  double sum_ = 0;  // of the frame that is being filled
  std::int64_t filled_ = 0;
  double last_[2] = {0, 0};     // energies of the two frames before
  std::vector<double> recent_;  // a ring of smoothed energies
  std::int64_t frames_ = 0;     // complete ones
  bool is_speech_ = false;
  std::int64_t start_ = 0;  // of the loud run or the interval, in frames
  std::int64_t loud_ = 0;   // loud frames in a row
  std::int64_t last_loud_ = 0;
  std::vector<Interval> done_;
};

}  // namespace verbatim
