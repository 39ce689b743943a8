// The stopwatch counts, and changes nothing.
#include "device/timed_device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/counted_allocations.h"
#include "device/small_run.h"

namespace verbatim {
namespace {

std::vector<std::byte> bytes_on(Device& device) {
  SmallRun run(device, kFormatBF16);
  run.all();
  return run.bytes();
}

TEST(TimedDevice, ChangesNoByte) {
  const std::unique_ptr<Device> plain = cpu_with(2);
  TimedDevice timed(cpu_with(2));
  timed.set_arena(Arena(timed.allocate(std::size_t{8} << 20)));
  const std::vector<std::byte> expected = bytes_on(*plain);
  EXPECT_GT(expected.size(), 1000U);
  EXPECT_EQ(bytes_on(timed), expected);
}

TEST(TimedDevice, AWarmStepAllocatesNothing) {
  const auto device = std::make_unique<TimedDevice>(cpu_with(2));
  device->set_arena(Arena(device->allocate(std::size_t{8} << 20)));
  SmallRun run(*device, kFormatBF16);
  run.step(60, 30, false);
  run.step(6, 6, false);
  const std::int64_t before = counted_allocations();
  for (int i = 0; i < 5; ++i) run.step(6, 12, false);
  EXPECT_EQ(counted_allocations(), before);
  // The counter counts.
  const auto thing = std::make_unique<std::vector<int>>(3);
  EXPECT_EQ(counted_allocations(), before + 2);
}

const OpTime* find(const std::vector<OpTime>& times, const std::string& op,
                   const std::string& name) {
  for (const OpTime& each : times) {
    if (each.op == op && each.name == name) return &each;
  }
  return nullptr;
}

TEST(TimedDevice, CountsEveryOp) {
  TimedDevice timed(cpu_with(1));
  timed.set_arena(Arena(timed.allocate(std::size_t{8} << 20)));
  SmallRun run(timed, kFormatBF16);
  run.all();
  const std::vector<OpTime> times = timed.times();
  const std::pair<const char*, std::int64_t> expected[] = {
      {"embed", 3},    {"rms_norm", 3 * 5}, {"linear", 3 * (2 + 2 * 4 + 1)},
      {"swiglu", 6},   {"add", 15},         {"rope", 12},
      {"pick", 3},     {"best", 3},         {"conv1d", 12},
      {"attention", 6}};
  EXPECT_EQ(times.size(), std::size(expected));
  for (const auto& [op, calls] : expected) {
    const OpTime* found = find(times, op, "");
    ASSERT_NE(found, nullptr) << op;
    EXPECT_EQ(found->calls, calls) << op;
    EXPECT_GE(found->seconds, 0.0);
  }
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end(), [](const OpTime& a, const OpTime& b) {
    return a.seconds > b.seconds;
  }));
}

TEST(TimedDevice, JoinsLayersThatDifferInTheirNumber) {
  TimedDevice timed(cpu_with(1));
  timed.set_arena(Arena(timed.allocate(std::size_t{1} << 20)));
  TestPlace place(timed, 3);
  const Tensor x = place.rows(2, 16);
  const char* names[] = {"model.layers.0.mlp.up_proj", "model.layers.17.mlp.up_proj",
                         "model.layers.3.mlp.fc2", "lm_head2"};
  for (const char* name : names) {
    const Linear w = place.linear(kFormatF32, 16, 16, false);
    const_cast<DeviceWeight&>(*w.weight).name = name;
    timed.linear(x, w);
  }
  const std::vector<OpTime> times = timed.times();
  ASSERT_NE(find(times, "linear", "model.layers.*.mlp.up_proj"), nullptr);
  EXPECT_EQ(find(times, "linear", "model.layers.*.mlp.up_proj")->calls, 2);
  EXPECT_NE(find(times, "linear", "model.layers.*.mlp.fc2"), nullptr);
  EXPECT_NE(find(times, "linear", "lm_head2"), nullptr);
  EXPECT_EQ(times.size(), 3U);
}

}  // namespace
}  // namespace verbatim
