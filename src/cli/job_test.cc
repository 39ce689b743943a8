#include "cli/job.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

Segment segment(double start_s, std::int32_t speaker, const char* text) {
  Segment made;
  made.start_s = start_s;
  made.end_s = start_s + 1;
  made.speaker = speaker;
  made.text = text;
  return made;
}

Transcript transcript(std::vector<Segment> segments) {
  Transcript made;
  made.segments = std::move(segments);
  made.usage = {10, 100, 20};
  return made;
}

std::string order(const Transcript& merged) {
  std::string all;
  for (const Segment& each : merged.segments) all += each.text + std::to_string(each.speaker) + " ";
  return all;
}

TEST(MergeChannels, SegmentsComeByStartAndEqualStartsByChannel) {
  const Transcript merged = merge_channels({transcript({segment(1, 0, "a"), segment(3, 0, "b")}),
                                            transcript({segment(1, 0, "c"), segment(2, 0, "d")})});
  EXPECT_EQ(order(merged), "a0 c1 d1 b0 ");
  EXPECT_EQ(merged.text, "a c d b");
}

TEST(MergeChannels, SpeakersOfOneChannelComeBehindAllOfTheOthersBefore) {
  const Transcript merged = merge_channels({transcript({segment(0, 2, "a")}),
                                            transcript({segment(1, 0, "b"), segment(2, -1, "c")}),
                                            transcript({}), transcript({segment(3, 0, "d")})});
  EXPECT_EQ(order(merged), "a2 b3 c-1 d4 ");
}

TEST(MergeChannels, TokensAddUpAndTheDurationDoesNot) {
  const Transcript merged = merge_channels({transcript({}), transcript({})});
  EXPECT_EQ(merged.usage.audio_s, 10);
  EXPECT_EQ(merged.usage.prompt_tokens, 200);
  EXPECT_EQ(merged.usage.output_tokens, 40);
}

TEST(MergeChannels, WarningsKeepTheirCodeAndNameTheirChannel) {
  Transcript second = transcript({});
  second.warnings.push_back({"loop", "it repeats", 1, 2});
  const Transcript merged = merge_channels({transcript({}), second});
  ASSERT_EQ(merged.warnings.size(), 1u);
  EXPECT_STREQ(merged.warnings[0].code, "loop");
  EXPECT_EQ(merged.warnings[0].message, "channel 1: it repeats");
  EXPECT_EQ(merged.warnings[0].end_s, 2);
}

}  // namespace
}  // namespace verbatim
