// The filter of an output head: tokens are those of the exact product, to the lowest index among
// equals and with NaN as smallest, whatever the head and the row look like; and its intervals hold
// what the exact product computes.
#include "cpu/head_filter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cpu/kernels/kernel_test.h"
#include "device/test_place.h"

namespace verbatim {
namespace {

constexpr std::int32_t kOut = 1000;  // the last panel is half empty
constexpr std::int32_t kIn = 300;    // a segment and a part of one
constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::string name;
  std::vector<float> head;  // [kOut, kIn]
  std::vector<float> x;     // rows of kIn
};

float* row_of(Case& made, std::int32_t output) {
  return made.head.data() + std::int64_t{output} * kIn;
}

Case random_case(const char* name, std::int64_t rows, std::uint32_t seed) {
  TestValues values(seed);
  return {name, values.uniforms(std::int64_t{kOut} * kIn, 0.1F), values.uniforms(rows * kIn, 2.0F)};
}

// A head whose rows from `first` on, `step` apart, are one row that x is close to.
Case with_copies(const char* name, std::int32_t first, std::int32_t step) {
  Case made = random_case(name, 1, 5);
  for (std::int32_t o = first; o < kOut; o += step)
    for (std::int32_t k = 0; k < kIn; ++k)
      row_of(made, o)[k] = 0.05F * made.x[static_cast<std::size_t>(k)];
  return made;
}

// Copies of one row, each of which differs from it in the last bit of another weight.
Case with_last_bits() {
  Case made = with_copies("last bits", 3, 7);
  std::int32_t k = 0;
  for (std::int32_t o = 3; o < kOut; o += 7, k = (k + 11) % kIn) {
    float& value = row_of(made, o)[k];
    value = std::nextafter(value, o % 2 == 0 ? kInfinite : -kInfinite);
  }
  return made;
}

// Rows that lie as far below the best one as the margin is wide: on either side of its end.
Case with_ties_at_the_bound() {
  Case made = with_copies("ties at the bound", 500, kOut);
  for (std::int32_t o = 0; o < kOut; ++o) {
    if (o == 500) continue;
    const float share = 1.0F - 0.0001F * static_cast<float>(o % 400);
    for (std::int32_t k = 0; k < kIn; ++k)
      row_of(made, o)[k] = share * row_of(made, 500)[k] + 0.001F * row_of(made, o)[k];
  }
  return made;
}

// int8 ranks two rows wrong by nearly half a code a weight: 700 is all halves that are rounded
// down, 20 is a little less in sum and is rounded up.
Case with_wrong_ranks() {
  Case made = random_case("int8 ranks them wrong", 1, 6);
  for (std::int32_t k = 0; k < kIn; ++k) {
    made.x[static_cast<std::size_t>(k)] = k == 0 ? 0.0F : 1.0F;
    for (std::int32_t o = 0; o < kOut; ++o) row_of(made, o)[k] = k == 0 ? 127.0F : 40.0F;
    row_of(made, 700)[k] = k == 0 ? 127.0F : 50.48F;
    row_of(made, 20)[k] = k == 0 ? 127.0F : k % 2 == 0 ? 51.0F : 49.9F;
  }
  return made;
}

// Rows that int8 holds to the bit, in whose chains nearly every step rounds up by half a unit.
Case with_rounded_steps() {
  Case made = random_case("steps that round up", 1, 7);
  for (std::int32_t k = 0; k < kIn; ++k)
    made.x[static_cast<std::size_t>(k)] = k == 0 ? 127.5F : k < 8 ? 127.0F : 1.0F / 255;
  for (std::int32_t o = 0; o < kOut; o += 2)
    for (std::int32_t k = 0; k < kIn; ++k)
      row_of(made, o)[k] = k == 0 ? 0.0F : k < 8 ? 127.0F : 1.0F;
  return made;
}

// The same of a row of x that lies halfway between codes, most of it, on the side of the weights.
Case with_what_is_left_of_x() {
  Case made = random_case("what two rows of int8 leave", 1, 8);
  for (std::int32_t k = 0; k < kIn; ++k)
    made.x[static_cast<std::size_t>(k)] = k == 0 ? 127.5F : 0.49F / 255;
  for (std::int32_t o = 0; o < kOut; o += 2) std::fill_n(row_of(made, o), kIn, 1.0F);
  return made;
}

template <typename Change>
Case changed(const char* name, const Change& change) {
  Case made = random_case(name, 2, 11);
  change(made);
  return made;
}

std::vector<Case> cases() {
  std::vector<Case> all{random_case("random", 1, 1),
                        random_case("two random rows", 2, 2),
                        random_case("as many rows as are filtered", 16, 3),
                        random_case("one row more", 17, 4),
                        with_copies("equal rows in every panel", 3, 7),
                        with_copies("equal rows in some panels", 3, 97),
                        with_copies("all equal", 0, 1),
                        with_last_bits(),
                        with_ties_at_the_bound(),
                        with_wrong_ranks(),
                        with_rounded_steps(),
                        with_what_is_left_of_x()};
  all.push_back(changed("a huge activation", [](Case& c) { c.x[17] = 3e4F; }));
  all.push_back(changed("a huge weight", [](Case& c) { row_of(c, 777)[3] = 3e4F; }));
  all.push_back(changed("x is zero", [](Case& c) { std::fill_n(c.x.begin(), kIn, 0.0F); }));
  all.push_back(
      changed("the head is zero", [](Case& c) { std::fill(c.head.begin(), c.head.end(), 0.0F); }));
  all.push_back(changed("zeros of both signs", [](Case& c) {
    for (std::size_t i = 0; i < c.head.size(); ++i) c.head[i] = i / kIn % 3 == 0 ? -0.0F : 0.0F;
  }));
  all.push_back(changed("all logits are negative", [](Case& c) {
    for (float& value : c.x) value = std::fabs(value);
    for (float& value : c.head) value = -std::fabs(value);
  }));
  all.push_back(changed("x is tiny", [](Case& c) {
    for (float& value : c.x) value *= 1e-36F;
  }));
  all.push_back(changed("x is denormal", [](Case& c) {
    for (float& value : c.x) value *= 1e-40F;
  }));
  all.push_back(changed("weights are denormal", [](Case& c) {
    for (std::size_t i = 0; i < c.head.size(); ++i) c.head[i] *= i / kIn % 2 == 0 ? 1e-40F : 1e-36F;
  }));
  all.push_back(changed("x is huge", [](Case& c) {
    for (float& value : c.x) value *= 1e37F;
  }));
  all.push_back(changed("NaN in x", [](Case& c) { c.x[5] = kNaN; }));
  all.push_back(changed("infinity in x", [](Case& c) { c.x[kIn + 5] = -kInfinite; }));
  all.push_back(changed("NaN in one row of the head", [](Case& c) { row_of(c, 40)[0] = kNaN; }));
  all.push_back(changed("NaN in most rows of the head", [](Case& c) {
    for (std::int32_t o = 0; o < kOut; ++o) row_of(c, o)[o % kIn] = o % 9 != 4 ? kNaN : 1.0F;
  }));
  all.push_back(changed("NaN in every row", [](Case& c) {
    for (std::int32_t o = 0; o < kOut; ++o) row_of(c, o)[1] = kNaN;
  }));
  all.push_back(changed("infinities in the head", [](Case& c) {
    row_of(c, 900)[7] = c.x[7] > 0 ? kInfinite : -kInfinite;
    row_of(c, 901)[7] = row_of(c, 900)[7];
    row_of(c, 10)[7] = -row_of(c, 900)[7];
  }));
  return all;
}

std::vector<std::int32_t> tokens(const Case& given, const WeightFormat& format,
                                 const DeviceOptions& options) {
  const std::unique_ptr<Device> device = open_device("cpu", options);
  device->set_arena(Arena(device->allocate(std::size_t{1} << 20)));
  TestPlace place(*device, 1);
  Linear head;
  head.weight = place.weight(format, given.head, kOut, Use::kHead);
  const auto rows = static_cast<std::int64_t>(given.x.size()) / kIn;
  const Tensor best = device->best(host_rows(given.x, rows), head);
  std::vector<std::int32_t> found;
  for (std::int64_t r = 0; r < rows; ++r) found.push_back(best.row<std::int32_t>(r)[0]);
  return found;
}

// Of the exact product of the first instruction set; all of them give the same bits.
TEST(HeadFilter, TokensAreThoseOfTheExactProduct) {
  flush_denormals();
  for (const Case& given : cases()) {
    for (const WeightFormat* format : dense_formats()) {
      DeviceOptions options;
      options.threads = 1;
      options.pin_threads = false;
      options.head_filter = HeadFilterUse::kNever;
      const std::vector<std::int32_t> exact = tokens(given, *format, options);
      options.head_filter = HeadFilterUse::kAlways;
      for (const KernelTable* table : tables_here()) {
        options.isa = table->isa;
        options.threads = 1 + static_cast<int>(given.x.size() / kIn) % 3;
        EXPECT_EQ(tokens(given, *format, options), exact)
            << given.name << ", " << format->name << ", " << table->isa;
      }
      options.isa.clear();
      for (const int threads : {1, 2, 5}) {
        options.threads = threads;
        EXPECT_EQ(tokens(given, *format, options), exact)
            << given.name << ", " << format->name << ", " << threads << " threads";
      }
    }
  }
}

TEST(HeadFilter, AmongEqualsTheLowestIndexWins) {
  DeviceOptions options;
  options.threads = 2;
  options.head_filter = HeadFilterUse::kAlways;
  for (const WeightFormat* format : dense_formats()) {
    EXPECT_EQ(tokens(with_copies("", 3, 7), *format, options), std::vector<std::int32_t>{3});
    EXPECT_EQ(tokens(with_copies("", 3, 97), *format, options), std::vector<std::int32_t>{3});
    EXPECT_EQ(tokens(with_copies("", 998, 1), *format, options), std::vector<std::int32_t>{998});
    EXPECT_EQ(tokens(with_copies("", 0, 1), *format, options), std::vector<std::int32_t>{0});
  }
}

// A filter, and what the exact product of the same instruction set computes.
struct Measured {
  Measured(const KernelTable& table, const WeightFormat& format, const Case& given)
      : bytes(stored(format, given.head)),
        pool(2, false),
        scratch(allocate_host(2 * kLinearScratchBytes)),
        filter(table, dense_weight(format, bytes, kOut, kIn), pool) {
    DeviceOptions options;
    options.isa = table.isa;
    options.threads = 1;
    const std::unique_ptr<Device> device = open_device("cpu", options);
    device->set_arena(Arena(device->allocate(std::size_t{1} << 20)));
    TestPlace place(*device, 1);
    Linear head;
    head.weight = place.weight(format, given.head, kOut);
    const auto rows = static_cast<std::int64_t>(given.x.size()) / kIn;
    const Tensor logits = device->linear(host_rows(given.x, rows), head);
    computed.assign(logits.f32(), logits.f32() + rows * kOut);
  }
  std::vector<std::byte> bytes;
  ThreadPool pool;
  Buffer scratch;
  HeadFilter filter;
  std::vector<float> computed;
};

// How often a computed value lies outside of its interval.
std::int64_t misses(const KernelTable& table, const WeightFormat& format, const Case& given) {
  Measured measured(table, format, given);
  std::vector<float> least(kOut), most(kOut);
  std::int64_t count = 0;
  for (std::size_t r = 0; r < given.x.size() / kIn; ++r) {
    if (!measured.filter.intervals(given.x.data() + r * kIn, least, most)) continue;
    for (std::size_t o = 0; o < kOut; ++o) {
      const float value = measured.computed[r * kOut + o];
      // What is not a number may be anywhere, if nothing is claimed of it.
      const bool inside =
          std::isnan(value) ? most[o] == kInfinite : least[o] <= value && value <= most[o];
      count += inside ? 0 : 1;
    }
  }
  return count;
}

TEST(HeadFilter, IntervalsHoldWhatTheExactProductComputes) {
  flush_denormals();
  std::vector<Case> all = cases();
  for (std::uint32_t seed = 100; seed < 103; ++seed) all.push_back(random_case("draw", 10, seed));
  for (const Case& given : all)
    for (const WeightFormat* format : dense_formats())
      for (const KernelTable* table : tables_here())
        EXPECT_EQ(misses(*table, *format, given), 0)
            << given.name << ", " << format->name << ", " << table->isa;
}

TEST(HeadFilter, WidthIsWhatTheRoundingOfTheHeadCanDo) {
  // One weight fixes the scale, the others lie halfway between codes, on the side of x: the error
  // is as long as it can be and points along x.
  Case given = random_case("", 1, 21);
  for (std::int32_t k = 0; k < kIn; ++k)
    given.x[static_cast<std::size_t>(k)] = k == 0 ? 0.0F : k % 2 == 0 ? 1.0F : -1.0F;
  for (std::int32_t o = 0; o < kOut; ++o) {
    float* row = row_of(given, o);
    row[0] = 127.0F;
    const auto code = static_cast<float>(o % 100);
    for (std::int32_t k = 1; k < kIn; ++k) row[k] = (k % 2 == 0 ? 1.0F : -1.0F) * (code + 0.49F);
  }
  Measured measured(*tables_here().front(), kFormatF32, given);
  std::vector<float> least(kOut), most(kOut);
  ASSERT_TRUE(measured.filter.intervals(given.x.data(), least, most));
  for (std::size_t o = 0; o < kOut; ++o) {
    EXPECT_LE(measured.computed[o], most[o]);
    EXPECT_GT(measured.computed[o], most[o] - 0.02F * (most[o] - least[o])) << o;
  }
}

TEST(HeadFilter, FewPanelsAreLeftOfAHeadThatKnowsItsAnswer) {
  for (const KernelTable* table : tables_here()) {
    Case given = random_case("", 2, 31);
    for (std::int32_t k = 0; k < kIn; ++k) {  // the best two outputs of the two rows
      row_of(given, 20)[k] = 0.05F * given.x[static_cast<std::size_t>(k)];
      row_of(given, 990)[k] = 0.05F * given.x[static_cast<std::size_t>(kIn + k)];
    }
    Measured measured(*table, kFormatBF16, given);
    const auto found = [&](std::int64_t row, std::int64_t rows) {
      const auto panels = measured.filter.candidates(given.x.data() + row * kIn, kIn, rows,
                                                     measured.pool, measured.scratch.data());
      return std::vector<std::int32_t>(panels.begin(), panels.end());
    };
    EXPECT_EQ(found(0, 1), std::vector<std::int32_t>{20 / kLanes});
    EXPECT_EQ(found(1, 1), std::vector<std::int32_t>{990 / kLanes});
    EXPECT_EQ(found(0, 2), (std::vector<std::int32_t>{20 / kLanes, 990 / kLanes}));
    // Outputs without any order leave a part of them.
    given = random_case("", 1, 32);
    Measured random(*table, kFormatBF16, given);
    const std::size_t left =
        random.filter.candidates(given.x.data(), kIn, 1, random.pool, random.scratch.data()).size();
    EXPECT_GT(left, 0U);
    EXPECT_LT(left, 12U);
  }
}

TEST(HeadFilter, WhatItCostsIsCounted) {
  DeviceOptions options;
  options.threads = 2;
  const Case given = random_case("", 1, 1);
  const std::vector<std::byte> bytes = stored(kFormatBF16, given.head);
  const Weight head = dense_weight(kFormatBF16, bytes, kOut, kIn);
  options.head_filter = HeadFilterUse::kNever;
  const std::unique_ptr<Device> without = open_device("cpu", options);
  options.head_filter = HeadFilterUse::kAlways;
  const std::unique_ptr<Device> with = open_device("cpu", options);
  for (const Use use : {Use::kHead, Use::kBoth}) {
    EXPECT_GT(with->weight_bytes(head, use), without->weight_bytes(head, use) + kOut * kIn);
    const std::unique_ptr<DeviceWeight> placed = with->prepare(head, use);
    EXPECT_EQ(placed->bytes, with->weight_bytes(head, use));
    EXPECT_LT(placed->best_bytes, placed->projection_bytes);
    const std::unique_ptr<DeviceWeight> plain = without->prepare(head, use);
    EXPECT_EQ(plain->best_bytes, plain->projection_bytes);
  }
  for (const Use use : {Use::kProjection, Use::kTable})
    EXPECT_EQ(with->weight_bytes(head, use), without->weight_bytes(head, use));
  // A head that caches hold gets none.
  options.head_filter = HeadFilterUse::kWhereFaster;
  EXPECT_EQ(open_device("cpu", options)->weight_bytes(head, Use::kHead),
            without->weight_bytes(head, Use::kHead));
}

}  // namespace
}  // namespace verbatim
