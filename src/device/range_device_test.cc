// What entered each weight is remembered, and nothing is changed by it.
#include "device/range_device.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "device/small_run.h"

namespace verbatim {
namespace {

std::unique_ptr<RangeDevice> ranged(int threads = 1) {
  auto device = std::make_unique<RangeDevice>(cpu_with(threads));
  device->set_arena(Arena(device->allocate(std::size_t{8} << 20)));
  return device;
}

std::vector<std::byte> bytes_on(Device& device) {
  SmallRun run(device, kFormatBF16);
  run.all();
  return run.bytes();
}

TEST(RangeDevice, ChangesNoByte) {
  const std::unique_ptr<Device> plain = cpu_with(2);
  EXPECT_EQ(bytes_on(*ranged(2)), bytes_on(*plain));
}

void named(const Linear& w, const char* name) {
  const_cast<DeviceWeight&>(*w.weight).name = name;
}

TEST(RangeDevice, RemembersTheLargestOfEveryFeatureAndTheRows) {
  const std::unique_ptr<RangeDevice> device = ranged();
  TestPlace place(*device, 3);
  const Linear q = place.linear(kFormatF32, 4, 3, false);
  const Linear k = place.linear(kFormatF32, 5, 3, true);
  const Linear head = place.linear(kFormatF32, 6, 2, false);
  named(q, "a.q");
  named(k, "a.k");
  named(head, "Head");
  const std::vector<float> first{1, -2, 0, -3, 1, 0};
  const std::vector<float> second{0.5F, 2.5F, 0};
  device->project(place.rows(first, 2), q, k);
  device->project(place.rows(second, 1), q, k);
  device->best(place.rows(std::vector<float>{-7, 8}, 1), head);
  const std::vector<SeenInput> seen = device->seen();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].names, (std::vector<std::string>{"Head"}));
  EXPECT_EQ(seen[0].largest, (std::vector<float>{7, 8}));
  EXPECT_EQ(seen[1].names, (std::vector<std::string>{"a.q", "a.k"}));
  EXPECT_EQ(seen[1].count, 3);
  EXPECT_EQ(seen[1].largest, (std::vector<float>{3, 2.5F, 0}));
  EXPECT_EQ(seen[1].rows, (std::vector<float>{1, -2, 0, -3, 1, 0, 0.5F, 2.5F, 0}));
}

TEST(RangeDevice, WhatIsNoNumberDoesNotPassForASmallOne) {
  const std::unique_ptr<RangeDevice> device = ranged();
  TestPlace place(*device, 3);
  const Linear w = place.linear(kFormatF32, 4, 2, false);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  device->linear(place.rows(std::vector<float>{nan, 1, 2, 3}, 2), w);
  EXPECT_EQ(device->seen()[0].largest,
            (std::vector<float>{std::numeric_limits<float>::infinity(), 3}));
}

// Of so many rows that each hold their number, those that are kept.
std::vector<float> kept_of(std::int64_t count, std::int64_t batch) {
  const std::unique_ptr<RangeDevice> device = ranged();
  TestPlace place(*device, 3);
  const Linear w = place.linear(kFormatF32, 4, 1, false);
  for (std::int64_t done = 0; done < count; done += batch) {
    const ArenaScope scratch(device->arena());
    std::vector<float> rows;
    for (std::int64_t i = done; i < std::min(done + batch, count); ++i)
      rows.push_back(static_cast<float>(i));
    device->linear(place.rows(rows, static_cast<std::int64_t>(rows.size())), w);
  }
  EXPECT_EQ(device->seen()[0].count, count);
  return device->seen()[0].rows;
}

std::vector<float> every(std::int64_t step, std::int64_t count) {
  std::vector<float> rows;
  for (std::int64_t i = 0; i < count; i += step) rows.push_back(static_cast<float>(i));
  return rows;
}

TEST(RangeDevice, KeptRowsAreSpreadOverAllAndDependOnTheirOrderAlone) {
  EXPECT_EQ(kept_of(64, 64), every(1, 64));
  EXPECT_EQ(kept_of(65, 65), every(2, 65));
  EXPECT_EQ(kept_of(128, 128), every(2, 128));
  EXPECT_EQ(kept_of(129, 7), every(4, 129));
  EXPECT_EQ(kept_of(1000, 1000), every(16, 1000));
  EXPECT_EQ(kept_of(1000, 1), every(16, 1000));
}

TEST(RangeDevice, ThreadsChangeNothing) {
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 3}) {
    const std::unique_ptr<RangeDevice> device = ranged(threads);
    SmallRun run(*device, kFormatBF16);
    run.all();
    for (const SeenInput& input : device->seen()) {
      found.push_back(input.largest);
      found.push_back(input.rows);
    }
  }
  const auto half = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
  EXPECT_TRUE(std::equal(found.begin(), half, half, found.end()));
}

}  // namespace
}  // namespace verbatim
