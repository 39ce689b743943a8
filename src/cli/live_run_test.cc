// A stream followed to its end, over events made by hand.
#include "cli/live_run.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/interrupt.h"
#include "engine/mailbox.h"

namespace verbatim {
namespace {

class FollowLive : public testing::Test {
 protected:
  FollowLive() : mailbox_(std::make_shared<Mailbox>()) {
    mailbox_->bell = std::make_shared<Bell>();
    stream_ = std::make_unique<Stream>(mailbox_);
    feed_.arrived_s = [this] { return arrived_s_; };
    feed_.heard_s = [this](double seconds) { heard_s_ = seconds; };
    feed_.end = [this] {
      ++ends_;
      // What has arrived is still heard.
      say(TextDelta{" end", 1, 2});
      finish();
    };
  }
  ~FollowLive() override { set_interrupted(false); }

  void say(Event event) {
    const std::lock_guard lock(mailbox_->mutex);
    mailbox_->events.push_back(std::move(event));
  }
  void finish(std::vector<Warning> warnings = {}) {
    Transcript transcript;
    transcript.warnings = std::move(warnings);
    say(Done{transcript});
  }
  Transcript follow() {
    const auto output = make_live_output(
        "jsonl", {[this](std::string_view text) { out_ += text; }, [](std::string_view) {}});
    return follow_live(*stream_, feed_, *output);
  }

  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Stream> stream_;
  LiveFeed feed_;
  double arrived_s_ = 0;
  double heard_s_ = 0;
  int ends_ = 0;
  std::string out_;
};

TEST_F(FollowLive, EventsAreWrittenInTheirOrderUntilTheEnd) {
  say(TextDelta{"a", 0, 1});
  say(Progress{"decode", 1.5, 0, 1});
  say(WordDone{{0, 1, "a"}});
  finish({{"loop", "it repeats", 1, 2}});
  const Transcript transcript = follow();
  EXPECT_EQ(out_,
            "{\"type\":\"delta\",\"text\":\"a\",\"start\":0.0,\"end\":1.0}\n"
            "{\"type\":\"word\",\"text\":\"a\",\"start\":0.0,\"end\":1.0}\n");
  EXPECT_EQ(heard_s_, 1.5);
  EXPECT_EQ(ends_, 0);
  EXPECT_EQ(live_exit_code(transcript), 3);
}

TEST_F(FollowLive, AnInterruptEndsTheFeedOnceAndHearsTheRest) {
  set_interrupted(true);
  say(TextDelta{"a", 0, 1});
  const Transcript transcript = follow();
  EXPECT_EQ(ends_, 1);
  EXPECT_NE(out_.find("\" end\""), std::string::npos) << out_;
  EXPECT_EQ(live_exit_code(transcript), 0);
}

TEST_F(FollowLive, TextThatFallsBehindIsSaid) {
  arrived_s_ = 10;
  say(Progress{"decode", 7, 0, 1});
  say(Progress{"decode", 9.75, 0, 1});
  finish();
  follow();
  EXPECT_EQ(out_,
            "{\"type\":\"lag\",\"seconds\":3.0,\"position\":7.0}\n"
            "{\"type\":\"lag\",\"seconds\":0.0,\"position\":9.75}\n");
}

TEST_F(FollowLive, AFeedThatWaitsIsNeverLate) {
  feed_.arrived_s = nullptr;
  feed_.heard_s = nullptr;
  say(Progress{"decode", 7, 0, 1});
  finish();
  follow();
  EXPECT_EQ(out_, "");
}

TEST_F(FollowLive, WhatTheStreamFailedWithIsThrown) {
  say(TextDelta{"a", 0, 1});
  say(Failed{Code::kIo, "stdin: reading failed"});
  try {
    follow();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kIo);
    EXPECT_STREQ(error.what(), "stdin: reading failed");
  }
}

}  // namespace
}  // namespace verbatim
