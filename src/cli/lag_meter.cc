// Begins above one second, ends below a half.
#include "cli/lag_meter.h"

namespace verbatim {
namespace {

constexpr double kBeginS = 1;
constexpr double kEndS = 0.5;
constexpr double kBetweenReportsS = 1;  // of audio, that may pass without a word

}  // namespace

std::optional<Lag> LagMeter::hears(double heard_s, double arrived_s) {
  heard_s_ = heard_s;
  return judge(arrived_s - heard_s);
}

std::optional<Lag> LagMeter::waits(double arrived_s) {
  // What was heard since the last report is not known, so this can tell of more lag only.
  const double behind_s = arrived_s - heard_s_ - kBetweenReportsS;
  if (behind_s < kBeginS) return std::nullopt;
  return judge(behind_s);
}

std::optional<Lag> LagMeter::judge(double behind_s) {
  const bool begins = said_s_ == 0 && behind_s > kBeginS;
  const bool doubles = said_s_ > 0 && behind_s >= 2 * said_s_;
  const bool ends = said_s_ > 0 && behind_s < kEndS;
  if (!begins && !doubles && !ends) return std::nullopt;
  said_s_ = ends ? 0 : behind_s;
  return Lag{said_s_, heard_s_};
}

}  // namespace verbatim
