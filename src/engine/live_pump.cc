// Live audio goes in on a thread of its own.
#include "engine/live_pump.h"

#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::size_t kBlockSamples = 1 << 14;
// Beyond this a source that can wait is held up: what writes into the pipe then waits too, and
// memory does not grow for ever behind one that will never be caught up with.
constexpr double kMostBehindS = 600;

}  // namespace

LivePump::LivePump(std::unique_ptr<AudioSource> source, Stream& stream, std::atomic<bool>& end,
                   bool waits)
    : stream_(stream), end_(end), waits_(waits), rate_hz_(source->sample_rate_hz()) {
  thread_ = std::thread([this, from = std::move(source)] {
    try {
      carry(*from);
    } catch (const Error& error) {
      stream_.fail_with(error.code(), error.what());
    } catch (const std::exception& error) {
      stream_.fail_with(Code::kInternal, error.what());
    }
    has_ended_ = true;
  });
}

void LivePump::carry(AudioSource& source) {
  std::vector<float> block(kBlockSamples);
  while (!(waits_ && end_)) {
    const std::size_t count = source.read(block);
    if (count == 0) break;
    samples_ += static_cast<std::int64_t>(count);
    const std::span<const float> arrived = std::span(block).first(count);
    if (waits_ || arrived_s() - heard_s_ > kMostBehindS) {
      stream_.push(arrived);
    } else {
      stream_.push_live(arrived);
    }
  }
  for (const AudioNote& note : source.notes()) stream_.warn({note.code, note.what, 0, 0});
  stream_.finish();
}

LivePump::~LivePump() {
  end_ = true;
  if (!has_ended_) stream_.stop();  // it may wait for room in the mailbox
  if (thread_.joinable()) thread_.join();
}

double LivePump::arrived_s() const {
  return static_cast<double>(samples_) / rate_hz_;
}

}  // namespace verbatim
