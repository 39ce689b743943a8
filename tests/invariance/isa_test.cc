// The instruction set and the number of threads change no bit of any tensor, from the samples to
// the last token.
#include <gtest/gtest.h>

#include "device/device.h"
#include "tests/invariance/nano.h"

namespace verbatim {
namespace {

class IsaTest : public testing::TestWithParam<Nano> {
 protected:
  static TappedRun whole_run(const std::string& isa, int threads, std::span<const float> clip) {
    EngineOptions options = nano_options(GetParam());
    options.isa = isa;
    options.threads = threads;
    return tapped_run(options, clip);
  }
  void expect_same(const std::string& isa, int threads) const {
    const TappedRun run = whole_run(isa, threads, clip_);
    EXPECT_EQ(first_difference(run.tap, first_.tap), "") << isa << ", " << threads << " threads";
    EXPECT_EQ(run.transcript, first_.transcript) << isa << ", " << threads << " threads";
  }
  std::vector<float> clip_ = nano_clip(GetParam());
  TappedRun first_ = whole_run("", 1, clip_);
};

// A tensor of every stage, and of prompt and step.
std::vector<std::string> stages_of(const Nano& nano) {
  if (nano.folder == kVoxtralNano.folder) {
    return {"padded",    "mel",      "t_cond",    "scale.3",     "stem.c1",
            "stem.out",  "enc.0.q",  "enc.3.out", "enc.norm",    "proj.in",
            "proj.out",  "tok_emb",  "x",         "dec.0.norm2", "dec.0.k_rope",
            "dec.3.out", "dec.norm", "logits",    "token"};
  }
  return {"pcm",
          "enc.a.stem",
          "enc.s.stage.6.block.0.out",
          "enc.a.mean",
          "conn.s.fc1",
          "conn.a.out",
          "speech",
          "x",
          "dec.0.norm1",
          "dec.3.out",
          "dec.norm",
          "logits",
          "step:step.logits",
          "step:x",
          "step:dec.0.k_rope",
          "token"};
}

TEST_P(IsaTest, TheRunToCompareWithIsWhole) {
  EXPECT_NE(first_.transcript.find(GetParam().words), std::string::npos) << first_.transcript;
  const auto& names = first_.tap.digests();
  for (const std::string& name : stages_of(GetParam())) EXPECT_EQ(names.count(name), 1U) << name;
  EXPECT_GT(names.size(), 120U);
}

TEST_P(IsaTest, TheInstructionSetDoesNotChangeABit) {
  const std::vector<std::string> here = device_factories().back()->variants();
  for (std::size_t i = 1; i < here.size(); ++i) expect_same(here[i], 2);
}

TEST_P(IsaTest, TheNumberOfThreadsDoesNotChangeABit) {
  for (const int threads : {2, 3}) expect_same("", threads);
}

TEST_P(IsaTest, OneBitOfTheAudioIsSeen) {
  std::vector<float> other = clip_;
  float& sample = other[other.size() / 2];
  sample = sample == 0 ? 1e-6F : sample * (1 + 0x1p-22F);
  const TappedRun run = whole_run("", 1, other);
  EXPECT_NE(first_difference(run.tap, first_.tap), "");
}

INSTANTIATE_TEST_SUITE_P(Nano, IsaTest, testing::Values(kVibeVoiceNano, kVoxtralNano));

}  // namespace
}  // namespace verbatim
