#include "audio/paced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace verbatim {
namespace {

class Ramp final : public AudioSource {
 public:
  explicit Ramp(std::size_t count) : count_(count) {}
  std::int32_t sample_rate_hz() const override { return 16000; }
  std::int32_t channels() const override { return 1; }
  double duration_s() const override { return static_cast<double>(count_) / 16000; }
  std::size_t read(std::span<float> block) override {
    const std::size_t count = std::min(block.size(), count_ - at_);
    for (std::size_t i = 0; i < count; ++i) block[i] = static_cast<float>(at_ + i);
    at_ += count;
    return count;
  }
  std::vector<AudioNote> notes() const override { return {{"audio_truncated", "cut"}}; }

 private:
  std::size_t count_;
  std::size_t at_ = 0;
};

struct FakeClock {
  double now_s = 100;
  std::vector<double> slept;
  Pace pace() {
    return {[this] { return now_s; },
            [this](double seconds) {
              slept.push_back(seconds);
              now_s += seconds;
            }};
  }
};

TEST(Paced, EachBlockComesWhenItWouldHaveBeenHeard) {
  FakeClock clock;
  std::atomic<bool> end{false};
  const auto source = paced(std::make_unique<Ramp>(16000), clock.pace(), end);
  EXPECT_EQ(source->duration_s(), 1);
  std::vector<float> block(4096);
  std::size_t given = 0;
  while (const std::size_t count = source->read(block)) {
    EXPECT_LE(count, 1280U);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(block[i], static_cast<float>(given + i));
    given += count;
    EXPECT_DOUBLE_EQ(clock.now_s, 100 + static_cast<double>(given) / 16000);
  }
  EXPECT_EQ(given, 16000U);
  EXPECT_EQ(clock.slept.size(), 13U);
  EXPECT_EQ(source->notes().size(), 1U);
}

TEST(Paced, ItEndsWhereItIsToldTo) {
  FakeClock clock;
  std::atomic<bool> end{false};
  const auto source = paced(std::make_unique<Ramp>(16000), clock.pace(), end);
  std::vector<float> block(4096);
  EXPECT_EQ(source->read(block), 1280U);
  end = true;
  EXPECT_EQ(source->read(block), 0U);
}

TEST(Paced, TimeThatWasLostIsMadeUp) {
  FakeClock clock;
  std::atomic<bool> end{false};
  const auto source = paced(std::make_unique<Ramp>(160000), clock.pace(), end);
  std::vector<float> block(1280);
  source->read(block);
  clock.now_s += 1;
  clock.slept.clear();
  for (int i = 0; i < 12; ++i) source->read(block);
  EXPECT_TRUE(clock.slept.empty());
  source->read(block);
  ASSERT_EQ(clock.slept.size(), 1U);
  EXPECT_NEAR(clock.slept[0], 0.04, 1e-9);
}

}  // namespace
}  // namespace verbatim
