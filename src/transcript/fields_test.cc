// Rounding of times, names of speakers and recordings.
#include "transcript/fields.h"

#include <gtest/gtest.h>

#include <limits>

namespace verbatim {
namespace {

TEST(RoundedTime, RoundsHalvesUpOnTheDecimalSpelling) {
  EXPECT_EQ(rounded_time(59.9999, 3), 60000);
  EXPECT_EQ(rounded_time(59.9994, 3), 59999);
  // The doubles of these three lie a little below the decimals.
  EXPECT_EQ(rounded_time(59.9995, 3), 60000);
  EXPECT_EQ(rounded_time(1.0005, 3), 1001);
  EXPECT_EQ(rounded_time(1.005, 2), 101);
  EXPECT_EQ(rounded_time(0.0005, 3), 1);
  EXPECT_EQ(rounded_time(0.00049999, 3), 0);
  EXPECT_EQ(rounded_time(2.675, 2), 268);
  EXPECT_EQ(rounded_time(12, 3), 12000);
}

TEST(RoundedTime, TakesAnyDouble) {
  EXPECT_EQ(rounded_time(-1, 3), 0);
  EXPECT_EQ(rounded_time(-0.0, 3), 0);
  EXPECT_EQ(rounded_time(std::numeric_limits<double>::quiet_NaN(), 3), 0);
  EXPECT_EQ(rounded_time(std::numeric_limits<double>::denorm_min(), 3), 0);
  EXPECT_EQ(rounded_time(std::numeric_limits<double>::infinity(), 3), 1'000'000'000'000'000);
  EXPECT_EQ(rounded_time(1e300, 3), 1'000'000'000'000'000);
}

TEST(SegmentTimes, StayWithinTheAudioAndInOrder) {
  Usage usage;
  usage.audio_s = 5.867;
  SegmentTimes times = segment_times(5.866, 5.867, usage);
  EXPECT_EQ(times.start_cs, 586);
  EXPECT_EQ(times.end_cs, 586);
  times = segment_times(3, 2, usage);
  EXPECT_EQ(times.start_cs, 300);
  EXPECT_EQ(times.end_cs, 300);
}

TEST(Speakers, LettersGoOnAfterZ) {
  EXPECT_EQ(speaker_letters(0), "A");
  EXPECT_EQ(speaker_letters(25), "Z");
  EXPECT_EQ(speaker_letters(26), "AA");
  EXPECT_EQ(speaker_letters(27), "AB");
  EXPECT_EQ(speaker_letters(701), "ZZ");
  EXPECT_EQ(speaker_letters(702), "AAA");
}

TEST(NonSpeech, IsOneTagAndNothingElse) {
  for (const char* tag : {"[Music]", "[Human Sounds]", " [Silence]\n", "[A]"})
    EXPECT_TRUE(is_non_speech(tag)) << tag;
  for (const char* text : {"", "[]", "[music]", "[Music] a", "[Music", "[A1]", "[Music] [Noise]"})
    EXPECT_FALSE(is_non_speech(text)) << text;
}

TEST(RecordingName, IsOneWordWithoutFolderAndExtension) {
  EXPECT_EQ(recording_name("/data/team meeting 1.wav"), "team_meeting_1");
  EXPECT_EQ(recording_name("call.2024"), "call.2024");
  EXPECT_EQ(recording_name(".hidden"), ".hidden");
  EXPECT_EQ(recording_name("a\tb\xff.mp3"), "a_b\uFFFD");
  EXPECT_EQ(recording_name(""), "audio");
  EXPECT_EQ(recording_name("-"), "-");
}

TEST(Usage, SecondsAreWholeAndAtLeastOne) {
  const auto seconds = [](double audio_s) {
    Usage usage;
    usage.audio_s = audio_s;
    std::string json = "{";
    append_usage(json, usage);
    return json;
  };
  EXPECT_EQ(seconds(0), "{\"usage\":{\"type\":\"duration\",\"seconds\":1}");
  EXPECT_EQ(seconds(120), "{\"usage\":{\"type\":\"duration\",\"seconds\":120}");
  EXPECT_EQ(seconds(120.001), "{\"usage\":{\"type\":\"duration\",\"seconds\":121}");
}

}  // namespace
}  // namespace verbatim
