// A dry run asks for exactly what the real one will use.
#include "device/dry_device.h"

#include <gtest/gtest.h>

#include "device/checked_device.h"
#include "device/small_run.h"
#include "device/timed_device.h"

namespace verbatim {
namespace {

// The arena that both runs asked for; the real one runs in an arena of the dry one's size.
void expect_same_water(Device& real, const char* what) {
  for (const WeightFormat* format : dense_formats()) {
    DryDevice dry(real);
    SmallRun asked(dry, *format, reserve_addresses);
    EXPECT_EQ(dry.arena().high_water(), 0U);
    asked.all();
    ASSERT_GT(dry.arena().high_water(), 0U);
    real.set_arena(Arena(real.allocate(dry.arena().high_water())));
    SmallRun used(real, *format);
    used.all();
    EXPECT_EQ(real.arena().high_water(), dry.arena().high_water()) << what << " " << format->name;
    EXPECT_EQ(real.arena().used(), 0U);
    EXPECT_EQ(asked.model().weight_bytes(), used.model().weight_bytes());
    EXPECT_EQ(dry.weights_bytes(), used.model().weight_bytes());
  }
}

TEST(DryDevice, AsksForTheArenaTheRealRunUses) {
  for (const int threads : {1, 3}) {
    const std::unique_ptr<Device> real = cpu_with(threads);
    expect_same_water(*real, "cpu");
  }
}

TEST(DryDevice, StandsInForADecoratedDeviceToo) {
  const std::unique_ptr<Device> second = cpu_with(2, "scalar");
  TimedDevice real(std::make_unique<CheckedDevice>(cpu_with(3), *second));
  expect_same_water(real, "timed and checked");
}

TEST(DryDevice, CountsWeightsByUseAndVectors) {
  const std::unique_ptr<Device> real = cpu_with(1);
  DryDevice dry(*real);
  TestPlace place(dry, 1);
  place.linear(kFormatBF16, 48, 20, false, Use::kTable);
  const std::size_t table = dry.weights_bytes();
  EXPECT_EQ(table, 48U * 20 * 2);
  place.linear(kFormatBF16, 48, 20, false, Use::kProjection);
  const std::size_t projection = dry.weights_bytes() - table;
  EXPECT_GE(projection, 48U * 20 * 2);
  place.linear(kFormatBF16, 48, 20, false, Use::kBoth);
  EXPECT_EQ(dry.weights_bytes(), 2 * (table + projection));
  const std::size_t before = dry.vectors_bytes();
  place.rows(3, 5);
  EXPECT_EQ(dry.vectors_bytes() - before, 60U);
}

}  // namespace
}  // namespace verbatim
