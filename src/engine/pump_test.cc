// Audio that goes in on a thread of its own: its end, its failures, and how it is given up.
#include "engine/pump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "engine/small_engine.h"

namespace verbatim {
namespace {

constexpr std::chrono::hours kForever{1};

// A source out of memory; what comes behind its samples is the test's choice.
class FakeSource final : public AudioSource {
 public:
  explicit FakeSource(std::vector<float> samples) : samples_(std::move(samples)) {}
  std::int32_t sample_rate_hz() const override { return 24000; }
  std::int32_t channels() const override { return 1; }
  double duration_s() const override { return 0; }
  std::size_t read(std::span<float> block) override {
    const std::size_t count = std::min(block.size(), samples_.size() - at_);
    std::copy_n(samples_.begin() + static_cast<std::ptrdiff_t>(at_), count, block.begin());
    at_ += count;
    if (count == 0 && endless) std::fill(block.begin(), block.end(), 0.1F);
    if (count == 0 && endless) return block.size();
    if (count == 0 && !failure.empty()) fail(Code::kCorrupt, "%s", failure.c_str());
    if (count == 0 && is_strange) throw std::runtime_error("out of luck");
    return count;
  }
  std::vector<AudioNote> notes() const override { return said; }

  std::string failure;
  bool is_strange = false;
  bool endless = false;
  std::vector<AudioNote> said;

 private:
  std::vector<float> samples_;
  std::size_t at_ = 0;
};

class PumpTest : public testing::Test {
 protected:
  PumpTest() : engine_(options()) {}
  static EngineOptions options() {
    EngineOptions made = small_options();
    made.own_thread = true;
    return made;
  }
  Client open() { return Client(engine_.open("", short_answer(), 0)); }
  Engine engine_;
};

TEST_F(PumpTest, CarriesASourceToItsEnd) {
  const std::vector<float> clip = noise(1.3);
  Client wanted(engine_.open("", short_answer(), 0), clip);
  wanted.listen(kForever);
  Client found = open();
  const Pump pump(std::make_unique<FakeSource>(clip), found.stream());
  found.listen(kForever);
  EXPECT_EQ(said(found.transcript()), said(wanted.transcript()));
  EXPECT_DOUBLE_EQ(found.transcript().usage.audio_s, 1.3);
}

TEST_F(PumpTest, CarriesSpooledAudioToItsEnd) {
  const std::vector<float> clip = noise(12);  // more than stays in memory
  FakeSource source(clip);
  source.said = {{"audio_truncated", "the pipe ended inside a sample"}};
  std::atomic<std::int64_t> progress{0};
  const std::atomic<bool> stop{false};
  SpooledAudio audio = spool_audio(source, "", stop, &progress);
  EXPECT_EQ(audio.samples, static_cast<std::int64_t>(clip.size()));
  EXPECT_EQ(progress, audio.samples);
  Client client = open();
  const Pump pump(std::move(audio), client.stream());
  client.listen(kForever);
  EXPECT_DOUBLE_EQ(client.transcript().usage.audio_s, 12);
  EXPECT_EQ(client.warned.front(), "audio_truncated");
}

TEST_F(PumpTest, SpoolingEndsWhereItIsToldTo) {
  FakeSource source(noise(1));
  source.endless = true;
  const std::atomic<bool> stop{true};
  EXPECT_EQ(spool_audio(source, "", stop, nullptr).samples, 0);
}

TEST_F(PumpTest, SpoolingIntoAFolderThatIsNotThereNamesIt) {
  FakeSource source(noise(15));
  const std::atomic<bool> stop{false};
  const std::string message =
      message_of(Code::kIo, [&] { spool_audio(source, "no/such/folder", stop, nullptr); });
  EXPECT_TRUE(contains(message, "no/such/folder")) << message;
}

TEST_F(PumpTest, WhatTheSourceThrowsIsTheEndOfItsStream) {
  auto source = std::make_unique<FakeSource>(noise(0.5));
  source->failure = "song.flac: a frame is broken";
  Client client = open();
  const Pump pump(std::move(source), client.stream());
  client.listen(kForever);
  EXPECT_EQ(client.failure(Code::kCorrupt), "song.flac: a frame is broken");
}

TEST_F(PumpTest, WhatIsNoErrorOfOursEndsTheStreamToo) {
  auto source = std::make_unique<FakeSource>(noise(0.5));
  source->is_strange = true;
  Client client = open();
  const Pump pump(std::move(source), client.stream());
  client.listen(kForever);
  EXPECT_EQ(client.failure(Code::kInternal), "out of luck");
}

TEST_F(PumpTest, NotesOfTheSourceBecomeWarnings) {
  auto source = std::make_unique<FakeSource>(noise(0.5));
  source->said = {{"audio_not_finite", "three samples were no numbers"},
                  {"audio_truncated", "the rest is gone"}};
  Client client = open();
  const Pump pump(std::move(source), client.stream());
  client.listen(kForever);
  const std::vector<std::string> codes = client.codes();
  ASSERT_GE(codes.size(), 2U);
  EXPECT_EQ(codes[0], "audio_not_finite");
  EXPECT_EQ(codes[1], "audio_truncated");
  EXPECT_EQ(client.transcript().warnings[0].message, "three samples were no numbers");
}

// The slot is taken and the mailbox fills up: nobody will ever make room.
TEST_F(PumpTest, GivenUpBeforeItsEndItStopsItsStream) {
  Client first = open();
  Client second = open();
  {
    auto source = std::make_unique<FakeSource>(noise(0.5));
    source->endless = true;
    const Pump pump(std::move(source), second.stream());
  }
  first.leave();
  second.listen(kForever);
  EXPECT_EQ(second.codes(), std::vector<std::string>{"interrupted"});
}

TEST_F(PumpTest, GivenUpAtItsEndItChangesNothing) {
  Client client = open();
  {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_over = false;
    client.stream().on_ready([&] {
      const std::lock_guard lock(mutex);
      is_over = true;
      changed.notify_all();
    });
    auto source = std::make_unique<FakeSource>(noise(0.5));
    source->failure = "ended";
    const Pump pump(std::move(source), client.stream());
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_over; });
    lock.unlock();
    client.stream().on_ready(nullptr);
  }
  client.listen(kForever);
  EXPECT_EQ(client.failure(Code::kCorrupt), "ended");
}

}  // namespace
}  // namespace verbatim
