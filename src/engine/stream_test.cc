// The mailbox between a client and a slot, without an engine behind it.
#include "engine/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/scratch_folder.h"
#include "engine/slot.h"

namespace verbatim {
namespace {

using Milliseconds = std::chrono::milliseconds;
constexpr Milliseconds kNow{0};

// A session that notes what it is told and says what it is asked to.
class Puppet final : public Session {
 public:
  void push(std::span<const float> pcm) override {
    samples.insert(samples.end(), pcm.begin(), pcm.end());
  }
  void finish() override { ++finishes; }
  void stop() override { ++stops; }
  bool done() const override { return false; }
  void plan(EncodeBatch&) override {}
  void take(const EncodeBatch&) override {}
  void plan(DecodeBatch&) override {}
  void take(const DecodeBatch&) override {}
  void say(Event event) { post(std::move(event)); }

  std::vector<float> samples;
  int finishes = 0;
  int stops = 0;
};

class StreamTest : public testing::Test {
 protected:
  StreamTest() {
    mailbox_->bell = std::make_shared<Bell>();
    stream_ = std::make_unique<Stream>(mailbox_);
    slot_ = std::make_unique<Slot>(mailbox_, SessionOptions{}, 64);
    auto puppet = std::make_unique<Puppet>();
    puppet_ = puppet.get();
    slot_->set_session(std::move(puppet));
  }
  static const std::vector<float>& full() {
    static const std::vector<float> made(Mailbox::kPcmSamples, 0.5F);
    return made;
  }
  bool rung() {
    const std::lock_guard lock(mailbox_->bell->mutex);
    return std::exchange(mailbox_->bell->is_rung, false);
  }

  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Slot> slot_;
  Puppet* puppet_ = nullptr;
};

TEST_F(StreamTest, SamplesArriveInOrderAndTheEndOnce) {
  stream_->push(std::vector<float>{1, 2});
  stream_->push({});
  stream_->push(std::vector<float>{3});
  EXPECT_TRUE(slot_->deliver());
  EXPECT_FALSE(slot_->deliver());
  stream_->push(std::vector<float>{4});
  stream_->finish();
  stream_->finish();
  EXPECT_TRUE(slot_->deliver());
  EXPECT_FALSE(slot_->deliver());
  EXPECT_EQ(puppet_->samples, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(puppet_->finishes, 1);
}

TEST_F(StreamTest, EverythingAClientDoesRingsTheBell) {
  stream_->push(std::vector<float>{1});
  EXPECT_TRUE(rung());
  stream_->finish();
  EXPECT_TRUE(rung());
  stream_->stop();
  EXPECT_TRUE(rung());
  stream_->fail_with(Code::kIo, "gone");
  EXPECT_TRUE(rung());
  stream_.reset();
  EXPECT_TRUE(rung());
  EXPECT_TRUE(slot_->is_cancelled());
}

TEST_F(StreamTest, StoppingHandsOverWhatCameBefore) {
  stream_->push(std::vector<float>{1, 2});
  stream_->stop();
  stream_->push(std::vector<float>{3});  // too late
  stream_->finish();
  slot_->deliver();
  EXPECT_EQ(puppet_->samples, (std::vector<float>{1, 2}));
  EXPECT_EQ(puppet_->stops, 1);
  EXPECT_EQ(puppet_->finishes, 0);
}

TEST_F(StreamTest, EventsComeInOrderAndNothingBehindTheEnd) {
  puppet_->say(TextDelta{"a", 0, 0});
  puppet_->say(Done{});
  puppet_->say(TextDelta{"b", 0, 0});
  slot_->post_events();
  slot_->fail(Code::kInternal, "late");
  EXPECT_TRUE(slot_->is_over());
  std::optional<Event> event = stream_->next(kNow);
  ASSERT_TRUE(event && std::holds_alternative<TextDelta>(*event));
  event = stream_->next(kNow);
  ASSERT_TRUE(event && std::holds_alternative<Done>(*event));
  EXPECT_FALSE(stream_->next(std::chrono::hours(1)).has_value());  // at once
  stream_->push(std::vector<float>{1});                            // goes nowhere
}

TEST_F(StreamTest, NothingToSayIsATimeOut) {
  EXPECT_FALSE(stream_->next(kNow).has_value());
  EXPECT_FALSE(stream_->next(Milliseconds(1)).has_value());
}

TEST_F(StreamTest, AFailureIsAnEventAndWhatPushThrows) {
  slot_->fail(Code::kExhausted, "too long");
  const std::optional<Event> event = stream_->next(kNow);
  ASSERT_TRUE(event && std::holds_alternative<Failed>(*event));
  EXPECT_EQ(std::get<Failed>(*event).message, "too long");
  EXPECT_EQ(message_of(Code::kExhausted, [&] { stream_->push(std::vector<float>{1}); }),
            "too long");
}

TEST_F(StreamTest, AFailingSourceIsTheEndWhateverElseCame) {
  stream_->push(std::vector<float>{1});
  stream_->fail_with(Code::kIo, "unplugged");
  EXPECT_TRUE(slot_->deliver());
  EXPECT_TRUE(slot_->is_over());
  EXPECT_EQ(puppet_->finishes, 0);
}

TEST_F(StreamTest, WarningsOfTheSourceComeFirstInTheTranscript) {
  stream_->warn({"audio_not_finite", "a NaN", 0, 1});
  slot_->deliver();
  stream_->warn({"audio_truncated", "cut", 0, 1});
  stream_->finish();
  slot_->deliver();
  Transcript transcript;
  transcript.warnings.push_back({"loop", "again", 0, 1});
  puppet_->say(Done{transcript});
  slot_->post_events();
  std::vector<std::string> codes;
  while (const std::optional<Event> event = stream_->next(kNow)) {
    if (const Warning* warning = std::get_if<Warning>(&*event)) codes.emplace_back(warning->code);
    if (const Done* done = std::get_if<Done>(&*event)) {
      for (const Warning& warning : done->transcript.warnings) codes.emplace_back(warning.code);
    }
  }
  EXPECT_EQ(codes, (std::vector<std::string>{"audio_not_finite", "audio_truncated",
                                             "audio_not_finite", "audio_truncated", "loop"}));
}

TEST_F(StreamTest, NoWakeComesOnceTheStreamIsGone) {
  int woken = 0;
  stream_->on_ready([&] { ++woken; });
  slot_->fail(Code::kInternal, "one");
  EXPECT_EQ(woken, 1);
  stream_.reset();
  slot_->fail(Code::kInternal, "two");
  EXPECT_EQ(woken, 1);
}

// A client with a full mailbox in front of it. The second block waits until somebody lets it go;
// the third tells how.
class Pusher {
 public:
  explicit Pusher(Stream& stream, const std::vector<float>& block)
      : thread_([this, &stream, &block] {
          try {
            for (; pushed_ < 3; ++pushed_, pushed_.notify_all()) stream.push(block);
          } catch (const Error& error) {
            thrown = error.code();
          }
        }) {
    pushed_.wait(0);
  }
  void join() { thread_.join(); }
  int pushed() const { return pushed_; }
  std::optional<Code> thrown;  // after join

 private:
  std::atomic<int> pushed_{0};
  std::thread thread_;
};

TEST_F(StreamTest, AFullMailboxMakesRoomWhenItIsEmptied) {
  Pusher pusher(*stream_, full());
  // Each delivery lets one block in, never two.
  std::size_t seen = 0;
  while (seen < 3 * full().size()) {
    slot_->deliver();
    EXPECT_LE(puppet_->samples.size() - seen, full().size());
    seen = puppet_->samples.size();
  }
  pusher.join();
  EXPECT_EQ(pusher.pushed(), 3);
  EXPECT_FALSE(pusher.thrown.has_value());
}

TEST_F(StreamTest, StoppingLetsGoOfAFullMailbox) {
  Pusher pusher(*stream_, full());
  stream_->stop();
  pusher.join();
  EXPECT_EQ(pusher.pushed(), 3);
  slot_->deliver();
  EXPECT_EQ(puppet_->samples.size(), full().size());
}

TEST_F(StreamTest, AFailureLetsGoOfAFullMailboxAndIsThrown) {
  Pusher pusher(*stream_, full());
  slot_->fail(Code::kCancelled, "the engine was shut down");
  pusher.join();
  ASSERT_TRUE(pusher.thrown.has_value());
  EXPECT_EQ(*pusher.thrown, Code::kCancelled);
  EXPECT_EQ(pusher.pushed(), 1);
}

}  // namespace
}  // namespace verbatim
