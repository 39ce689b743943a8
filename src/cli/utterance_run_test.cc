// Speech from a source made by hand, answered by streams made by hand.
#include "cli/utterance_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/scratch_folder.h"
#include "engine/mailbox.h"

namespace verbatim {
namespace {

constexpr std::int32_t kRateHz = 16000;
constexpr std::size_t kBlock = 1280;

// A second of speech after a second of quiet, and so on; an end every two seconds.
class Talker : public AudioSource {
 public:
  Talker(int utterances, std::atomic<bool>& end) : blocks_(utterances * 25 + 13), end_(end) {}
  std::int32_t sample_rate_hz() const override { return kRateHz; }
  std::int32_t channels() const override { return 1; }
  double duration_s() const override { return 0; }
  std::vector<AudioNote> notes() const override { return {{"audio_not_finite", "one sample"}}; }

  std::size_t read(std::span<float> block) override {
    if (before_block) before_block(at_);
    if (end_ || at_ == blocks_) return 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const std::size_t sample = static_cast<std::size_t>(at_) * kBlock + i;
      const double t = static_cast<double>(sample) / kRateHz;
      const bool speaks = sample % (2 * kRateHz) >= kRateHz;
      block[i] = speaks ? static_cast<float>(0.3 * std::sin(t * 1300) * std::sin(t * 20)) : 0;
    }
    ++at_;
    return kBlock;
  }
  std::function<void(int block)> before_block;

 private:
  int blocks_;
  std::atomic<bool>& end_;
  int at_ = 0;
};

class FollowUtterances : public testing::Test {
 protected:
  ~FollowUtterances() override { set_interrupted(false); }

  UtteranceRun run(int utterances) {
    UtteranceRun run;
    auto talker = std::make_unique<Talker>(utterances, end_);
    talker->before_block = before_block_;
    run.source = std::move(talker);
    run.end = &end_;
    run.open = [this](double audio_s) {
      lengths_.push_back(audio_s);
      auto mailbox = std::make_shared<Mailbox>();
      mailbox->bell = std::make_shared<Bell>();
      Segment segment;
      segment.start_s = 0.5;
      segment.end_s = 1;
      segment.speaker = 0;
      segment.text = formatted("word%zu", lengths_.size());
      mailbox->events.emplace_back(SegmentDone{segment});
      Transcript transcript;
      transcript.segments = {segment};
      transcript.warnings = warnings_;
      if (fails_)
        mailbox->events.emplace_back(Failed{Code::kDevice, "the device failed"});
      else
        mailbox->events.emplace_back(Done{transcript});
      return std::make_unique<Stream>(mailbox);
    };
    return run;
  }
  Transcript follow(UtteranceRun run) {
    const auto output = make_live_output("jsonl", {[this](std::string_view text) {
                                                     const std::lock_guard lock(mutex_);
                                                     out_ += text;
                                                     written_.notify_all();
                                                   },
                                                   [](std::string_view) {}});
    return follow_utterances(std::move(run), queue_, *output);
  }

  std::atomic<bool> end_{false};
  UtteranceQueue queue_{kRateHz};
  std::function<void(int)> before_block_;
  std::vector<double> lengths_;
  std::vector<Warning> warnings_;
  bool fails_ = false;
  std::mutex mutex_;
  std::condition_variable written_;
  std::string out_;
};

TEST_F(FollowUtterances, EachIsHeardByItselfInTheTimesOfTheRecording) {
  const Transcript transcript = follow(run(3));
  EXPECT_EQ(lengths_.size(), 3u);
  EXPECT_EQ(transcript.text, "word1 word2 word3");
  ASSERT_EQ(transcript.segments.size(), 3u);
  EXPECT_NEAR(transcript.segments[2].start_s, 5.1, 0.1);
  EXPECT_DOUBLE_EQ(transcript.segments[2].end_s - transcript.segments[2].start_s, 0.5);
  EXPECT_DOUBLE_EQ(transcript.usage.audio_s, 88 * 0.08);
  ASSERT_EQ(transcript.warnings.size(), 1u);
  EXPECT_STREQ(transcript.warnings[0].code, "audio_not_finite");
}

TEST_F(FollowUtterances, TheFirstIsShownWhileTheNextIsRecorded) {
  // Block 40 is in the pause behind the first utterance and its margin.
  before_block_ = [this](int block) {
    if (block != 40) return;
    std::unique_lock lock(mutex_);
    written_.wait(lock, [this] { return contains(out_, "word1"); });
  };
  EXPECT_EQ(follow(run(2)).segments.size(), 2u);
}

TEST_F(FollowUtterances, AnInterruptEndsTheRecordingAndWhatWasSaidIsHeard) {
  before_block_ = [this](int block) {
    if (block == 20) set_interrupted(true);
    // The recording goes on until it is told.
    while (block >= 20 && !end_) std::this_thread::yield();
  };
  const Transcript transcript = follow(run(1000));
  EXPECT_EQ(transcript.text, "word1");
  EXPECT_NEAR(lengths_.at(0), 1, 0.2);
}

TEST_F(FollowUtterances, WarningsOfTheSourceAndOfSessionsAreToldWithTheirPlaces) {
  warnings_ = {{"loop", "it repeats", 0.25, 0.5}, {"truncated", "it is cut", 0, 0}};
  queue_.warn({"audio_gap", "away", 0, 0});
  const Transcript transcript = follow(run(1));
  std::map<std::string, Warning> by_code;
  for (const Warning& warning : transcript.warnings) by_code[warning.code] = warning;
  ASSERT_EQ(by_code.size(), 4u);
  EXPECT_NEAR(by_code["loop"].start_s, 0.9, 0.1);
  EXPECT_DOUBLE_EQ(by_code["loop"].end_s - by_code["loop"].start_s, 0.25);
  EXPECT_NEAR(by_code["truncated"].end_s - by_code["truncated"].start_s, lengths_.at(0), 0.001);
  // Those of the source are in the times of the recording as they come.
  EXPECT_EQ(by_code["audio_gap"].start_s, 0);
  EXPECT_TRUE(contains(out_, "\"audio_gap\""));
}

TEST_F(FollowUtterances, WhatASessionFailedWithIsThrownAndTheRecordingEnds) {
  fails_ = true;
  EXPECT_EQ(message_of(Code::kDevice, [&] { follow(run(100000)); }), "the device failed");
  EXPECT_TRUE(end_);
}

TEST_F(FollowUtterances, WhatTheSourceFailedWithIsThrownOnceItsUtterancesAreHeard) {
  before_block_ = [](int block) {
    if (block == 50) fail(Code::kIo, "the source failed");
  };
  EXPECT_EQ(message_of(Code::kIo, [&] { follow(run(100)); }), "the source failed");
  EXPECT_TRUE(contains(out_, "word1"));
}

TEST(UtteranceQueue, SpeechThatWaitsIsCountedInSeconds) {
  UtteranceQueue queue(10);
  queue.put({0, std::vector<float>(20)});
  queue.put({20, std::vector<float>(35)});
  queue.close();
  UtteranceQueue::Next next = queue.next(std::chrono::milliseconds(0));
  EXPECT_EQ(next.utterance->samples.size(), 20u);
  EXPECT_DOUBLE_EQ(next.waiting_s, 3.5);
  EXPECT_FALSE(next.is_over);
  next = queue.next(std::chrono::milliseconds(0));
  EXPECT_EQ(next.utterance->first, 20);
  EXPECT_TRUE(next.is_over);
}

}  // namespace
}  // namespace verbatim
