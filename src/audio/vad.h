// Where somebody speaks: energy over an adaptive noise floor, with a hangover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

struct Interval {
  double start_s = 0;
  double end_s = 0;
};

struct VadOptions {
  double over_floor_db = 9;  // speech is this much above the quietest 60 ms of the last floor_s
  double least_db = -60;     // of full scale; quieter is never speech
  double floor_s = 3;        // no syllable lasts as long, so a level that does is not speech
  double least_speech_s = 0.1;
  double hangover_s = 0.3;
};

// Energy is the mean square over three frames of 20 ms; the floor is the least of it over the last
// floor_s. A level that stays (hum, noise, a tone, silence, an offset) is its own floor and no
// speech. Sums run in double, sample after sample: no result depends on the blocks.
class Vad {
 public:
  explicit Vad(std::int32_t sample_rate_hz, const VadOptions& options = {});

  void push(std::span<const float> samples);
  void finish();  // ends an interval that is still open
  // Finished intervals [start, end) since the last call, in order.
  std::vector<Interval> take();
  // Whether speech, or its hangover, goes on at the end of what was pushed.
  bool is_speech() const { return is_speech_; }

 private:
  void end_frame();

  double frame_s_;
  std::int64_t frame_samples_;
  double over_floor_;  // as ratios of energy
  double least_energy_;
  std::int64_t least_frames_;
  std::int64_t hangover_frames_;

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

// Seconds of `speech` that no interval of `covered` touches; both in any order, overlaps allowed in
// `covered` only.
double uncovered_s(std::span<const Interval> speech, std::span<const Interval> covered);

}  // namespace verbatim
