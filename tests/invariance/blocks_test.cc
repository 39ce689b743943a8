// Audio in blocks of any size, read, pushed, encoded and prefilled, gives the same bytes.
#include <gtest/gtest.h>

#include "tests/invariance/nano.h"

namespace verbatim {
namespace {

void expect_same(const TappedRun& run, const TappedRun& whole, const std::string& what) {
  EXPECT_EQ(first_difference(run.tap, whole.tap), "") << what;
  EXPECT_EQ(run.transcript, whole.transcript) << what;
}

TEST(Blocks, AudioMayBeReadInBlocksOfAnySize) {
  const std::vector<float> whole = nano_clip("nato-slt", 1 << 20);
  EXPECT_EQ(whole.size(), 112860U);
  for (const std::size_t samples : {1U, 1896U, 1920U, 24000U}) {
    EXPECT_EQ(nano_clip("nato-slt", samples), whole) << samples;
  }
}

TEST(Blocks, AudioMayBePushedInBlocksOfAnySize) {
  const std::vector<float> clip = nano_clip("nato-slt");
  const TappedRun whole = tapped_run(nano_options(), clip, clip.size());
  EXPECT_NE(whole.transcript.find("alpha bravo"), std::string::npos) << whole.transcript;
  for (const std::size_t samples : {1896U, 1920U, 24000U}) {  // 79 ms, 80 ms, 1 s
    expect_same(tapped_run(nano_options(), clip, samples), whole, std::to_string(samples));
  }
}

TEST(Blocks, AudioMayBePushedSampleBySample) {
  std::vector<float> clip = nano_clip("nato-slt");
  clip.resize(24001);
  const TappedRun whole = tapped_run(nano_options(), clip, clip.size());
  expect_same(tapped_run(nano_options(), clip, 1), whole, "1 sample");
}

TEST(Blocks, AudioMayBeEncodedInBlocksOfAnySize) {
  const std::vector<float> clip = nano_clip("nato-slt");
  EngineOptions options = nano_options();
  options.encode_room_s = 60;
  const TappedRun whole = tapped_run(options, clip, clip.size());
  for (const double seconds : {0.01, 0.3, 1.0}) {
    options.encode_room_s = seconds;
    expect_same(tapped_run(options, clip, clip.size()), whole, std::to_string(seconds) + " s");
  }
}

TEST(Blocks, ThePromptMayBePrefilledInPiecesOfAnySize) {
  const std::vector<float> clip = nano_clip("nato-slt");
  const TappedRun whole = tapped_run(nano_options(), clip, clip.size());
  for (const std::int32_t rows : {1, 7, 64}) {
    EngineOptions options = nano_options();
    options.decode_room_rows = rows;
    expect_same(tapped_run(options, clip, clip.size()), whole, std::to_string(rows) + " rows");
  }
}

}  // namespace
}  // namespace verbatim
