// How loud a microphone is: one line on a terminal, beside text that appears there too.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace verbatim {

// Where the line stands: nowhere, in the place of the cursor, or in the row below, where the cursor
// is in the middle of a text.
enum class MeterPlace : std::uint8_t { kNone, kHere, kBelow };

struct MeterSetup {
  MeterPlace place = MeterPlace::kNone;
  std::function<void(std::string_view)> err;
  std::function<double()> now_s;  // of a clock that never goes back
  std::function<int()> columns;  // of the terminal as it is now: a line that wraps cannot be erased
};

// Any thread.
class LevelMeter {
 public:
  explicit LevelMeter(MeterSetup setup) : setup_(std::move(setup)) {}
  ~LevelMeter();
  LevelMeter(const LevelMeter&) = delete;
  LevelMeter& operator=(const LevelMeter&) = delete;

  // What was heard next, which ends heard_s after the beginning; drawn ten times a second at most.
  void hear(std::span<const float> samples, double heard_s);
  // Runs `body`, which writes to the terminal itself, while nothing is drawn.
  void aside(const std::function<void()>& body);

 private:
  void erase();

  MeterSetup setup_;
  std::mutex mutex_;
  double sum_ = 0;  // of squares since the line was drawn
  std::int64_t samples_ = 0;
  float peak_ = 0;
  double drawn_s_ = -1;
  bool is_drawn_ = false;
};

// "0:42 [########............] -36 dB", or with " clipped" behind it.
std::string level_line(double heard_s, double mean_square, float peak);

}  // namespace verbatim
