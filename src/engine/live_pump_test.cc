// Live audio that goes in on a thread of its own, into a mailbox that the test empties by hand.
#include "engine/live_pump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "engine/mailbox.h"

namespace verbatim {
namespace {

// Pieces of these sizes, each sample its own number.
class Pieces final : public AudioSource {
 public:
  Pieces(std::int32_t rate_hz, std::vector<std::size_t> sizes)
      : rate_hz_(rate_hz), sizes_(std::move(sizes)) {}
  std::int32_t sample_rate_hz() const override { return rate_hz_; }
  std::int32_t channels() const override { return 1; }
  double duration_s() const override { return 0; }
  std::size_t read(std::span<float> block) override {
    if (at_ == sizes_.size()) {
      if (!failure.empty()) fail(Code::kIo, "%s", failure.c_str());
      if (at_end) at_end();
      return 0;
    }
    const std::size_t count = std::min(block.size(), sizes_[at_++]);
    for (std::size_t i = 0; i < count; ++i) block[i] = static_cast<float>(given_++);
    return count;
  }
  std::vector<AudioNote> notes() const override { return said; }

  std::string failure;
  std::function<void()> at_end;
  std::vector<AudioNote> said;

 private:
  std::int32_t rate_hz_;
  std::vector<std::size_t> sizes_;
  std::size_t at_ = 0;
  std::size_t given_ = 0;
};

class LivePumpTest : public testing::Test {
 protected:
  LivePumpTest() : mailbox_(std::make_shared<Mailbox>()) {
    mailbox_->bell = std::make_shared<Bell>();
    stream_ = std::make_unique<Stream>(mailbox_);
  }
  // Whatever the pump does rings the bell.
  void wait_until(const std::function<bool(const Mailbox&)>& holds) {
    Bell& bell = *mailbox_->bell;
    for (;;) {
      {
        const std::lock_guard lock(mailbox_->mutex);
        if (holds(*mailbox_)) return;
      }
      std::unique_lock lock(bell.mutex);
      bell.rung.wait(lock, [&] { return bell.is_rung; });
      bell.is_rung = false;
    }
  }
  static bool is_finished(const Mailbox& mailbox) { return mailbox.is_finished; }

  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Stream> stream_;
  std::atomic<bool> end_{false};
};

TEST_F(LivePumpTest, NeverWaitsForAStreamThatIsBehind) {
  const std::size_t pieces = Mailbox::kPcmSamples / 10000 + 20;
  LivePump pump(
      std::make_unique<Pieces>(16000, std::vector<std::size_t>(pieces, std::size_t{10000})),
      *stream_, end_, false);
  wait_until(is_finished);
  ASSERT_EQ(mailbox_->pcm.size(), pieces * 10000);
  EXPECT_GT(mailbox_->pcm.size(), Mailbox::kPcmSamples);
  for (std::size_t i = 0; i < mailbox_->pcm.size(); i += 997)
    ASSERT_EQ(mailbox_->pcm[i], static_cast<float>(i));
  EXPECT_EQ(pump.arrived_s(), static_cast<double>(pieces * 10000) / 16000);
}

// At 100 samples a second the mailbox is full long after ten minutes.
TEST_F(LivePumpTest, TenMinutesBehindItHoldsTheSourceUp) {
  const LivePump pump(std::make_unique<Pieces>(100, std::vector<std::size_t>(100, 10000)), *stream_,
                      end_, false);
  wait_until([](const Mailbox& mailbox) { return mailbox.pcm.size() >= Mailbox::kPcmSamples; });
  const std::lock_guard lock(mailbox_->mutex);
  EXPECT_LE(mailbox_->pcm.size(), Mailbox::kPcmSamples + 10000);
  EXPECT_FALSE(mailbox_->is_finished);
}

TEST_F(LivePumpTest, AFileWaitsForRoom) {
  const LivePump pump(std::make_unique<Pieces>(16000, std::vector<std::size_t>(100, 10000)),
                      *stream_, end_, true);
  wait_until([](const Mailbox& mailbox) { return mailbox.pcm.size() >= Mailbox::kPcmSamples; });
  const std::lock_guard lock(mailbox_->mutex);
  EXPECT_LE(mailbox_->pcm.size(), Mailbox::kPcmSamples + 10000);
}

TEST_F(LivePumpTest, AnEndThatIsAskedForFinishesTheStream) {
  end_ = true;
  const LivePump pump(std::make_unique<Pieces>(16000, std::vector<std::size_t>{10000}), *stream_,
                      end_, true);
  wait_until(is_finished);
  EXPECT_TRUE(mailbox_->pcm.empty());
}

TEST_F(LivePumpTest, WhatHasArrivedByTheEndIsStillPushed) {
  end_ = true;
  const LivePump pump(std::make_unique<Pieces>(16000, std::vector<std::size_t>{10000, 5000}),
                      *stream_, end_, false);
  wait_until(is_finished);
  EXPECT_EQ(mailbox_->pcm.size(), 15000U);
}

TEST_F(LivePumpTest, NotesOfTheSourceBecomeWarnings) {
  auto source = std::make_unique<Pieces>(16000, std::vector<std::size_t>{100});
  source->said = {{"audio_truncated", "the audio ends inside a frame"}};
  const LivePump pump(std::move(source), *stream_, end_, false);
  wait_until(is_finished);
  ASSERT_EQ(mailbox_->warnings.size(), 1U);
  EXPECT_STREQ(mailbox_->warnings[0].code, "audio_truncated");
}

TEST_F(LivePumpTest, WhatTheSourceThrowsIsTheEndOfItsStream) {
  auto source = std::make_unique<Pieces>(16000, std::vector<std::size_t>{100});
  source->failure = "stdin: reading failed";
  const LivePump pump(std::move(source), *stream_, end_, false);
  wait_until([](const Mailbox& mailbox) { return mailbox.failed_source.has_value(); });
  EXPECT_EQ(mailbox_->failed_source->message, "stdin: reading failed");
  EXPECT_FALSE(mailbox_->is_finished);
}

}  // namespace
}  // namespace verbatim
