// The instruction set and the number of threads change no bit of any tensor, from the samples to
// the last token.
#include <gtest/gtest.h>

#include "device/device.h"
#include "tests/invariance/nano.h"

namespace verbatim {
namespace {

TappedRun whole_run(const std::string& isa, int threads, std::span<const float> clip) {
  EngineOptions options = nano_options();
  options.isa = isa;
  options.threads = threads;
  return tapped_run(options, clip);
}

class IsaTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    clip_ = new std::vector<float>(nano_clip("nato-slt"));
    first_ = new TappedRun(whole_run("", 1, *clip_));
  }
  static void TearDownTestSuite() {
    delete clip_;
    delete first_;
  }
  static void expect_same(const std::string& isa, int threads) {
    const TappedRun run = whole_run(isa, threads, *clip_);
    EXPECT_EQ(first_difference(run.tap, first_->tap), "") << isa << ", " << threads << " threads";
    EXPECT_EQ(run.transcript, first_->transcript) << isa << ", " << threads << " threads";
  }
  static std::vector<float>* clip_;
  static TappedRun* first_;
};

std::vector<float>* IsaTest::clip_ = nullptr;
TappedRun* IsaTest::first_ = nullptr;

TEST_F(IsaTest, TheRunToCompareWithIsWhole) {
  EXPECT_NE(first_->transcript.find("alpha bravo"), std::string::npos) << first_->transcript;
  const auto& names = first_->tap.digests();
  // A tensor of every stage, and of prompt and step.
  for (const char* name :
       {"pcm", "enc.a.stem", "enc.s.stage.6.block.0.out", "enc.a.mean", "conn.s.fc1", "conn.a.out",
        "speech", "x", "dec.0.norm1", "dec.3.out", "dec.norm", "logits", "step:step.logits",
        "step:x", "step:dec.0.k_rope", "token"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
  EXPECT_GT(names.size(), 150U);
}

TEST_F(IsaTest, TheInstructionSetDoesNotChangeABit) {
  const std::vector<std::string> here = device_factories().back()->variants();
  for (std::size_t i = 1; i < here.size(); ++i) expect_same(here[i], 2);
}

TEST_F(IsaTest, TheNumberOfThreadsDoesNotChangeABit) {
  for (const int threads : {2, 3}) expect_same("", threads);
}

TEST_F(IsaTest, OneBitOfTheAudioIsSeen) {
  std::vector<float> other = *clip_;
  float& sample = other[other.size() / 2];
  sample = sample == 0 ? 1e-6F : sample * (1 + 0x1p-22F);
  const TappedRun run = whole_run("", 1, other);
  EXPECT_NE(first_difference(run.tap, first_->tap), "");
}

}  // namespace
}  // namespace verbatim
