#include "cli/lag_meter.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

TEST(LagMeter, WhoKeepsUpIsNotTalkedAbout) {
  LagMeter meter;
  for (double heard = 0; heard < 100; heard += 1) {
    EXPECT_FALSE(meter.hears(heard, heard + 0.9));
    EXPECT_FALSE(meter.waits(heard + 1.9));
  }
}

TEST(LagMeter, ItIsSaidAtItsBeginningWhenItDoublesAndAtItsEnd) {
  LagMeter meter;
  std::vector<double> said;
  double position = 0;
  const auto hears = [&](double heard, double behind) {
    if (const auto lag = meter.hears(heard, heard + behind)) {
      said.push_back(lag->behind_s);
      position = lag->position_s;
    }
  };
  double heard = 0;
  for (const double behind : {0.5, 1.25, 1.5, 2.25, 2.5, 4.0, 5.0, 3.0, 0.75, 0.25, 0.25})
    hears(++heard, behind);
  EXPECT_EQ(said, (std::vector<double>{1.25, 2.5, 5.0, 0.0}));
  EXPECT_EQ(position, 10);
}

TEST(LagMeter, ItDoesNotFlutterAroundItsThreshold) {
  LagMeter meter;
  EXPECT_TRUE(meter.hears(1, 2.125));
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(meter.hears(1, 1.875));
    EXPECT_FALSE(meter.hears(1, 2.125));
  }
}

TEST(LagMeter, SilenceOfTheModelIsLagToo) {
  LagMeter meter;
  EXPECT_FALSE(meter.hears(10, 10.1));
  EXPECT_FALSE(meter.waits(11.9));
  const auto lag = meter.waits(12.5);
  ASSERT_TRUE(lag);
  EXPECT_EQ(lag->behind_s, 1.5);
  EXPECT_EQ(lag->position_s, 10);
  EXPECT_FALSE(meter.waits(12.5)) << "and it is said once";
}

}  // namespace
}  // namespace verbatim
