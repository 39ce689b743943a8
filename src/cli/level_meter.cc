// The row below is reached by VT100's sequences: IND makes sure that there is one, and the cursor
// is saved and restored around what is drawn there.
#include "cli/level_meter.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/math.h"
#include "cli/terminal.h"

namespace verbatim {
namespace {

constexpr double kRedrawS = 0.1;
constexpr int kCells = 20;
constexpr double kLeastDb = -60;  // as the detector of speech has it
constexpr float kClipped = 0.999F;

}  // namespace

std::string level_line(double heard_s, double mean_square, float peak) {
  constexpr double kDbPerLog = 4.3429448190325175;  // 10 / log(10)
  const double db =
      mean_square > 0 ? std::clamp(kDbPerLog * math_log(mean_square), -99.0, 0.0) : -99.0;
  const auto full =
      static_cast<int>(std::lround(kCells * (std::max(db, kLeastDb) - kLeastDb) / -kLeastDb));
  return clock_text(std::floor(heard_s)) + " [" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kCells - full), '.') + formatted("] %3.0f dB", db) +
         (peak >= kClipped ? " clipped" : "");
}

LevelMeter::~LevelMeter() {
  erase();
}

void LevelMeter::hear(std::span<const float> samples, double heard_s) {
  if (setup_.place == MeterPlace::kNone) return;
  const std::lock_guard lock(mutex_);
  for (const float sample : samples) {
    sum_ += static_cast<double>(sample) * static_cast<double>(sample);
    peak_ = std::max(peak_, std::abs(sample));
  }
  samples_ += static_cast<std::int64_t>(samples.size());
  const double now_s = setup_.now_s();
  if (samples_ == 0 || (drawn_s_ >= 0 && now_s - drawn_s_ < kRedrawS)) return;
  std::string line = level_line(heard_s, sum_ / static_cast<double>(samples_), peak_);
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(setup_.columns() - 1, 0))));
  const bool is_below = setup_.place == MeterPlace::kBelow;
  setup_.err(is_below ? "\x1b"
                        "D\x1b[A\x1b"
                        "7\x1b[B\r\x1b[K" +
                            line + "\x1b" + "8"
                      : "\r\x1b[K" + line);
  sum_ = 0;
  samples_ = 0;
  peak_ = 0;
  drawn_s_ = now_s;
  is_drawn_ = true;
}

void LevelMeter::aside(const std::function<void()>& body) {
  const std::lock_guard lock(mutex_);
  erase();
  body();
}

void LevelMeter::erase() {
  // Below: all behind the cursor goes, so that a text which wraps meets an empty row.
  if (is_drawn_) setup_.err(setup_.place == MeterPlace::kBelow ? "\x1b[J" : "\r\x1b[K");
  is_drawn_ = false;
}

}  // namespace verbatim
