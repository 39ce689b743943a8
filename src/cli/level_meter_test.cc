// The line of a microphone's level, as characters.
#include "cli/level_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

class Meter : public testing::Test {
 protected:
  MeterSetup setup(MeterPlace place) {
    return {place, [this](std::string_view text) { out_ += text; }, [this] { return now_s_; },
            [this] { return columns_; }};
  }
  std::string out_;
  double now_s_ = 5;
  int columns_ = 80;
};

TEST(LevelLine, ShowsTimeAndLevel) {
  EXPECT_EQ(level_line(42.9, 0.001, 0.1F), "0:42 [##########..........] -30 dB");
  EXPECT_EQ(level_line(0, 0, 0), "0:00 [....................] -99 dB");
  EXPECT_EQ(level_line(3600, 1, 1), "1:00:00 [####################]   0 dB clipped");
  EXPECT_EQ(level_line(1, 4, 2), "0:01 [####################]   0 dB clipped");
}

TEST_F(Meter, IsDrawnTenTimesASecondAtMost) {
  LevelMeter meter(setup(MeterPlace::kHere));
  const std::vector<float> samples(100, 0.1F);
  for (int i = 0; i < 100; ++i) {
    meter.hear(samples, 1);
    now_s_ += 0.01;
  }
  EXPECT_LE(std::count(out_.begin(), out_.end(), '['), 2 * 11);
  EXPECT_GE(std::count(out_.begin(), out_.end(), '['), 2 * 9);
}

TEST_F(Meter, IsGoneWhileOthersWrite) {
  LevelMeter meter(setup(MeterPlace::kBelow));
  meter.hear(std::vector<float>(100, 0.1F), 1);
  // Cursor saved and restored.
  EXPECT_TRUE(contains(out_,
                       "\x1b"
                       "7"))
      << out_;
  EXPECT_TRUE(
      out_.ends_with("\x1b"
                     "8"))
      << out_;
  out_.clear();
  meter.aside([this] { out_ += "text"; });
  EXPECT_EQ(out_, "\x1b[Jtext");
  meter.aside([this] { out_ += " more"; });
  EXPECT_EQ(out_, "\x1b[Jtext more");
}

TEST_F(Meter, NeverWraps) {
  LevelMeter meter(setup(MeterPlace::kHere));
  columns_ = 10;
  meter.hear(std::vector<float>(100, 0.1F), 1);
  EXPECT_EQ(out_, "\r\x1b[K0:01 [###");
}

TEST_F(Meter, LeavesNothingBehind) {
  {
    LevelMeter meter(setup(MeterPlace::kHere));
    meter.hear(std::vector<float>(100, 0.1F), 1);
    out_.clear();
  }
  EXPECT_EQ(out_, "\r\x1b[K");
}

TEST_F(Meter, WithoutATerminalNothingIsDrawn) {
  {
    LevelMeter meter(setup(MeterPlace::kNone));
    meter.hear(std::vector<float>(100, 0.1F), 1);
    meter.aside([this] { out_ += "text"; });
  }
  EXPECT_EQ(out_, "text");
}

}  // namespace
}  // namespace verbatim
