// Audio in blocks of any size, read, pushed, encoded and prefilled, gives the same bytes.
#include <gtest/gtest.h>

#include "tests/invariance/nano.h"

namespace verbatim {
namespace {

void expect_same(const TappedRun& run, const TappedRun& whole, const std::string& what) {
  EXPECT_EQ(first_difference(run.tap, whole.tap), "") << what;
  EXPECT_EQ(run.transcript, whole.transcript) << what;
}

class BlocksTest : public testing::TestWithParam<Nano> {
 protected:
  TappedRun whole_run(std::span<const float> clip) const {
    return tapped_run(nano_options(GetParam()), clip, clip.size());
  }
  std::vector<float> clip_ = nano_clip(GetParam());
};

TEST_P(BlocksTest, AudioMayBeReadInBlocksOfAnySize) {
  EXPECT_GT(clip_.size(), GetParam().samples(3));
  for (const std::size_t samples :
       {std::size_t{1}, GetParam().samples(0.079), GetParam().samples(0.08), GetParam().samples(1),
        std::size_t{1} << 20}) {
    EXPECT_EQ(nano_clip(GetParam(), GetParam().clip, samples), clip_) << samples;
  }
}

TEST_P(BlocksTest, AudioMayBePushedInBlocksOfAnySize) {
  const TappedRun whole = whole_run(clip_);
  EXPECT_NE(whole.transcript.find(GetParam().words), std::string::npos) << whole.transcript;
  for (const double seconds : {0.079, 0.08, 1.0}) {
    expect_same(tapped_run(nano_options(GetParam()), clip_, GetParam().samples(seconds)), whole,
                std::to_string(seconds) + " s");
  }
}

TEST_P(BlocksTest, AudioMayBePushedSampleBySample) {
  clip_.resize(GetParam().samples(1) + 1);
  const TappedRun whole = whole_run(clip_);
  expect_same(tapped_run(nano_options(GetParam()), clip_, 1), whole, "1 sample");
}

TEST_P(BlocksTest, AudioMayBeEncodedInBlocksOfAnySize) {
  EngineOptions options = nano_options(GetParam());
  options.encode_room_s = 60;
  const TappedRun whole = tapped_run(options, clip_, clip_.size());
  for (const double seconds : {0.01, 0.3, 1.0}) {
    options.encode_room_s = seconds;
    expect_same(tapped_run(options, clip_, clip_.size()), whole, std::to_string(seconds) + " s");
  }
}

TEST_P(BlocksTest, ThePromptMayBePrefilledInPiecesOfAnySize) {
  const TappedRun whole = whole_run(clip_);
  for (const std::int32_t rows : {1, 7, 64}) {
    EngineOptions options = nano_options(GetParam());
    options.decode_room_rows = rows;
    expect_same(tapped_run(options, clip_, clip_.size()), whole, std::to_string(rows) + " rows");
  }
}

// More than waits inside a session at once: the rest waits in the mailbox.
TEST(Blocks, ALongClipMayBePushedAtOnce) {
  std::vector<float> clip = nano_clip(kVoxtralNano, "s8_long_mixed");
  clip.resize(kVoxtralNano.samples(20));
  const TappedRun whole = tapped_run(nano_options(kVoxtralNano), clip, clip.size());
  EXPECT_NE(whole.transcript.find("nine five five thirty"), std::string::npos) << whole.transcript;
  expect_same(tapped_run(nano_options(kVoxtralNano), clip, 1280), whole, "80 ms");
}

INSTANTIATE_TEST_SUITE_P(Nano, BlocksTest, testing::Values(kVibeVoiceNano, kVoxtralNano));

}  // namespace
}  // namespace verbatim
