// Time is counted in samples from the first read on, so that no delay adds up.
#include "audio/paced.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace verbatim {
namespace {

constexpr int kBlocksPerSecond = 25;
constexpr int kBlocks = 2;  // 80 ms

class PacedSource final : public AudioSource {
 public:
  PacedSource(std::unique_ptr<AudioSource> source, Pace pace, const std::atomic<bool>& end)
      : source_(std::move(source)), pace_(std::move(pace)), end_(end) {}

  std::int32_t sample_rate_hz() const override { return source_->sample_rate_hz(); }
  std::int32_t channels() const override { return source_->channels(); }
  double duration_s() const override { return source_->duration_s(); }
  std::vector<AudioNote> notes() const override { return source_->notes(); }

  std::size_t read(std::span<float> block) override {
    if (end_) return 0;
    if (!begin_s_) begin_s_ = pace_.now_s();
    const auto most = static_cast<std::size_t>(sample_rate_hz() * kBlocks / kBlocksPerSecond);
    const std::size_t count = source_->read(block.first(std::min(block.size(), most)));
    given_ += static_cast<std::int64_t>(count);
    const double due_s = *begin_s_ + static_cast<double>(given_) / sample_rate_hz();
    const double wait_s = due_s - pace_.now_s();
    if (count > 0 && wait_s > 0) pace_.sleep_s(wait_s);
    return count;
  }

 private:
  std::unique_ptr<AudioSource> source_;
  Pace pace_;
  const std::atomic<bool>& end_;
  std::optional<double> begin_s_;
  std::int64_t given_ = 0;
};

}  // namespace

Pace real_pace() {
  return {
      [] { return seconds_since(Clock::time_point()); },
      [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

std::unique_ptr<AudioSource> paced(std::unique_ptr<AudioSource> source, Pace pace,
                                   const std::atomic<bool>& end) {
  return std::make_unique<PacedSource>(std::move(source), std::move(pace), end);
}

}  // namespace verbatim
