// The row ops: what they compute, and that neither company nor threads change a bit.
#include "device/device.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "device/counted_allocations.h"
#include "device/small_run.h"

namespace verbatim {
namespace {

std::vector<float> floats(Device& device, const Tensor& x) {
  std::vector<float> made(static_cast<std::size_t>(x.rows * x.cols));
  device.download(std::as_writable_bytes(std::span(made)), x);
  return made;
}
std::vector<std::int32_t> ids(Device& device, const Tensor& x) {
  std::vector<std::int32_t> made(static_cast<std::size_t>(x.rows * x.cols));
  device.download(std::as_writable_bytes(std::span(made)), x);
  return made;
}

TEST(OpenDevice, AnUnknownNameOrInstructionSetListsTheKnownOnes) {
  try {
    open_device("tpu", {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_STREQ(error.what(), "device 'tpu' is not here; known are cpu");
  }
  try {
    open_device("cpu", {.threads = 1, .isa = "mmx"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("'mmx'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("scalar"), std::string::npos);
  }
}

TEST(OpenDevice, EveryInstructionSetThatRunsHereCanBeChosen) {
  const std::vector<std::string> here = device_factories().back()->variants();
  ASSERT_FALSE(here.empty());
  EXPECT_EQ(here.back(), "scalar");
  for (const std::string& isa : here) {
    EXPECT_EQ(cpu_with(1, isa.c_str())->info().name, "cpu " + isa);
  }
  EXPECT_EQ(cpu_with(1)->info().name, "cpu " + here.front());
}

TEST(DeviceEmbed, ARowIsItsTokensRowItsAudioOrTheirSum) {
  const std::unique_ptr<Device> device = cpu_with(2);
  constexpr std::int32_t kWidth = 37;
  for (const WeightFormat* format : dense_formats()) {
    for (const Use use : {Use::kTable, Use::kBoth}) {
      TestPlace place(*device, 1);
      const std::vector<float> table = rounded(*format, TestValues(2).uniforms(20 * kWidth));
      const DeviceWeight* weight = place.weight(*format, table, 20, use);
      const Tensor audio = place.rows(30, kWidth);
      std::vector<RowInput> rows;
      for (std::int32_t i = 0; i < 30; ++i) {
        const std::int32_t token = i % 3 == 0 ? -1 : (7 * i) % 20;
        rows.push_back({token, i % 3 == 1 ? Tensor{} : audio.slice(i, 1)});
      }
      const ArenaScope scratch(device->arena());
      const std::vector<float> x = floats(*device, device->embed(*weight, rows));
      for (std::int64_t i = 0; i < 30; ++i) {
        for (std::int64_t c = 0; c < kWidth; ++c) {
          const RowInput& row = rows[static_cast<std::size_t>(i)];
          const float token =
              row.token < 0 ? 0.0F : table[static_cast<std::size_t>(row.token * kWidth + c)];
          const float heard = audio.row<float>(i)[static_cast<std::size_t>(c)];
          const float expected =
              row.token < 0 ? heard : (row.audio.empty() ? token : token + heard);
          ASSERT_EQ(x[static_cast<std::size_t>(i * kWidth + c)], expected) << format->name;
        }
      }
    }
  }
}

TEST(DeviceEmbedDeathTest, AnEmptyRowOrAnUnknownTokenAborts) {
  const std::unique_ptr<Device> device = cpu_with(1);
  TestPlace place(*device, 1);
  const DeviceWeight* table = place.linear(kFormatF32, 20, 8, false, Use::kTable).weight;
  const RowInput nothing;
  const RowInput unknown{20, {}};
  EXPECT_DEATH(device->embed(*table, std::span(&nothing, 1)), "a row has a token or audio");
  EXPECT_DEATH(device->embed(*table, std::span(&unknown, 1)), "a token has a row in the table");
}

TEST(DevicePick, RowsComeInTheOrderTheyWereAskedFor) {
  const std::unique_ptr<Device> device = cpu_with(1);
  TestPlace place(*device, 1);
  const Tensor x = place.rows(9, 5);
  const std::vector<std::int32_t> wanted{8, 0, 3, 3, 7};
  const Tensor picked = device->pick(x, wanted);
  ASSERT_EQ(picked.rows, 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int32_t from = wanted[static_cast<std::size_t>(i)];
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(picked.row<float>(i)[c], x.row<float>(from)[c]);
  }
  EXPECT_EQ(device->pick(x, {}).rows, 0);
  const std::int32_t outside = 9;
  EXPECT_DEATH(device->pick(x, std::span(&outside, 1)), "a picked row exists");
}

TEST(DeviceBest, IsTheLargestOfTheHeadsLogitsAndTheLowestOfEquals) {
  for (const int threads : {1, 3}) {
    const std::unique_ptr<Device> device = cpu_with(threads);
    for (const WeightFormat* format : dense_formats()) {
      TestPlace place(*device, 1);
      std::vector<float> rows = TestValues(9).uniforms(100 * 24);
      // Tokens 30 to 99 are tokens 0 to 29 again: every maximum is met at least twice.
      for (std::size_t i = 30 * 24; i < rows.size(); ++i) rows[i] = rows[i - 30 * 24];
      Linear head;
      head.weight = place.weight(*format, rows, 100);
      const Tensor x = place.rows(40, 24);
      const ArenaScope scratch(device->arena());
      const std::vector<float> logits = floats(*device, device->linear(x, head));
      const std::size_t before = device->arena().used();
      const std::vector<std::int32_t> best = ids(*device, device->best(x, head));
      EXPECT_EQ(device->arena().used() - before, 192U);  // 40 ids; the logits are given back
      for (std::size_t r = 0; r < 40; ++r) {
        const float* row = logits.data() + 100 * r;
        EXPECT_EQ(best[r], std::max_element(row, row + 100) - row) << format->name;
        EXPECT_LT(best[r], 30);
      }
    }
  }
}

TEST(DeviceBest, ATiedHeadReadsTheTablesWeight) {
  const std::unique_ptr<Device> device = cpu_with(2);
  for (const WeightFormat* format : dense_formats()) {
    TestPlace place(*device, 1);
    // Rows of equal length: each is nearest to itself.
    std::vector<float> table(16 * 16, -0.25F);
    for (std::size_t i = 0; i < 16; ++i) table[17 * i] = 1.5F;
    Linear head;
    head.weight = place.weight(*format, table, 16, Use::kBoth);
    std::vector<RowInput> rows;
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < 16; ++i) {
      tokens.push_back((5 * i + 3) % 16);
      rows.push_back({tokens.back(), {}});
    }
    const ArenaScope scratch(device->arena());
    EXPECT_EQ(ids(*device, device->best(device->embed(*head.weight, rows), head)), tokens);
  }
}

// The rotation in double, from the angle that the device promises: a float32 product below position
// 131072, as the reference's, and an exact one from there on.
void expect_rotated(const RopeTable& table, std::int64_t position, std::span<const float> x,
                    std::span<const float> y) {
  const std::size_t half = table.inv_freq.size();
  for (std::size_t head = 0; head < x.size(); head += 2 * half) {
    for (std::size_t f = 0; f < half; ++f) {
      const float frequency = table.inv_freq[f];
      const long double angle =
          position < 131072
              ? static_cast<long double>(static_cast<float>(position) * frequency)
              : static_cast<long double>(position) * static_cast<long double>(frequency);
      const auto cos = static_cast<double>(std::cos(angle));
      const auto sin = static_cast<double>(std::sin(angle));
      const std::size_t first = head + (table.interleaved ? 2 * f : f);
      const std::size_t second = table.interleaved ? first + 1 : first + half;
      const double a = static_cast<double>(x[first]);
      const double b = static_cast<double>(x[second]);
      const double size = std::fabs(a) + std::fabs(b);
      ASSERT_NEAR(static_cast<double>(y[first]), a * cos - b * sin, 1.5e-7 * size)
          << "position " << position << " feature " << f;
      ASSERT_NEAR(static_cast<double>(y[second]), b * cos + a * sin, 1.5e-7 * size)
          << "position " << position << " feature " << f;
    }
  }
}

RopeTable frequencies(std::int32_t head_dim, double theta) {
  RopeTable table;
  for (std::int32_t i = 0; i < head_dim / 2; ++i) {
    table.inv_freq.push_back(static_cast<float>(1.0 / std::pow(theta, 2.0 * i / head_dim)));
  }
  return table;
}

TEST(DeviceRope, RotatesByPositionFarBeyondTheCheckpointsContext) {
  const std::unique_ptr<Device> device = cpu_with(2);
  RopeTable table = frequencies(20, 1e6);
  const std::int64_t positions[] = {
      0, 1, 77, 4095, 131070, 131072, 1000003, std::int64_t{1} << 33, (std::int64_t{1} << 40) - 3};
  for (const std::int64_t position : positions) {
    for (const bool interleaved : {false, true}) {
      table.interleaved = interleaved;
      TestPlace place(*device, 3);
      const Tensor x = place.rows(3, 60);
      const std::vector<float> before = floats(*device, x);
      const Span span{.rows = 3, .position = position};
      device->rope(x, device->spans(std::span(&span, 1)), table);
      const std::vector<float> after = floats(*device, x);
      for (std::size_t r = 0; r < 3; ++r) {
        expect_rotated(table, position + static_cast<std::int64_t>(r),
                       std::span(before).subspan(60 * r, 60), std::span(after).subspan(60 * r, 60));
      }
      if (position == 0) {
        EXPECT_EQ(std::vector<float>(after.begin(), after.begin() + 60),
                  std::vector<float>(before.begin(), before.begin() + 60));
      }
    }
  }
}

// Rows of a projection may stand in either order: what a pair becomes is the same to the bit.
TEST(DeviceRope, InterleavedPairsTurnAsHalfSplitOnesDo) {
  const std::unique_ptr<Device> device = cpu_with(2);
  constexpr std::int64_t kRows = 40;
  for (const std::int32_t head_dim : {6, 20, 32, 64, 128}) {
    const std::int64_t half = head_dim / 2;
    RopeTable table = frequencies(head_dim, 1e6);
    TestPlace place(*device, 3);
    const Tensor split = place.rows(kRows, 3 * head_dim);
    const Tensor paired = place.rows(kRows, 3 * head_dim);
    const auto each_pair = [&](const auto& visit) {
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t head = 0; head < 3 * head_dim; head += head_dim) {
          for (std::int64_t i = 0; i < half; ++i) {
            const float* from = split.row<float>(r).data() + head + i;
            visit(from[0], from[half], paired.row<float>(r).data() + head + 2 * i);
          }
        }
      }
    };
    each_pair([](float a, float b, float* pair) {
      pair[0] = a;
      pair[1] = b;
    });
    const Span span{.rows = kRows, .position = 131052};
    const Spans spans = device->spans(std::span(&span, 1));
    device->rope(split, spans, table);
    table.interleaved = true;
    device->rope(paired, spans, table);
    each_pair([&](float a, float b, const float* pair) {
      EXPECT_EQ(pair[0], a) << head_dim;
      EXPECT_EQ(pair[1], b) << head_dim;
    });
  }
}

TEST(DeviceRope, WhatRanBeforeAndBesideDoesNotChangeABit) {
  const RopeTable slow = frequencies(16, 1e6);
  const RopeTable fast = frequencies(8, 100);
  RopeTable paired = slow;
  paired.interleaved = true;
  const auto rotated = [](Device& device, const std::vector<std::int64_t>& positions,
                          std::int32_t rows, const RopeTable& table) {
    TestPlace place(device, 3);
    const std::vector<float> same = TestValues(4).uniforms(rows * 48);
    std::vector<float> all;
    std::vector<Span> spans;
    for (const std::int64_t position : positions) {
      all.insert(all.end(), same.begin(), same.end());
      spans.push_back({.first_row = static_cast<std::int32_t>(spans.size()) * rows,
                       .rows = rows,
                       .position = position});
    }
    const Tensor x = place.rows(all, static_cast<std::int64_t>(spans.size()) * rows);
    device.rope(x, device.spans(spans), table);
    return floats(device, x);
  };
  const auto expected = [&](std::int64_t position, std::int32_t rows, const RopeTable& table) {
    const std::unique_ptr<Device> fresh = cpu_with(1);
    return rotated(*fresh, {position}, rows, table);
  };
  const std::unique_ptr<Device> device = cpu_with(3);
  const std::vector<std::vector<std::int64_t>> batches{
      {5}, {900, 0, 131072}, {5}, {6}, {900, 1, 131072}, {0, 900}, {5, 5}};
  for (const auto& positions : batches) {
    for (const RopeTable* table : std::array<const RopeTable*, 3>{&slow, &fast, &paired}) {
      for (const std::int32_t rows : {1, 20}) {
        std::vector<float> all;
        for (const std::int64_t position : positions) {
          const std::vector<float> one = expected(position, rows, *table);
          all.insert(all.end(), one.begin(), one.end());
        }
        ASSERT_EQ(rotated(*device, positions, rows, *table), all);
      }
    }
  }
}

TEST(DeviceRope, ATableThatTakesAnothersPlaceIsReadAnew) {
  const std::unique_ptr<Device> device = cpu_with(1);
  RopeTable table = frequencies(16, 1e6);
  const Span span{.rows = 2, .position = 50};
  TestPlace place(*device, 3);
  device->rope(place.rows(2, 16), device->spans(std::span(&span, 1)), table);
  table = frequencies(16, 100);
  const Tensor x = place.rows(2, 16);
  const std::vector<float> before = floats(*device, x);
  device->rope(x, device->spans(std::span(&span, 1)), table);
  const std::vector<float> after = floats(*device, x);
  expect_rotated(table, 50, std::span(before).first(16), std::span(after).first(16));
}

TEST(DeviceRope, TablesThatTakeTurnsAskForNoMemory) {
  const std::unique_ptr<Device> device = cpu_with(2);
  RopeTable encoder = frequencies(64, 1e6);
  encoder.interleaved = true;
  const RopeTable decoder = frequencies(128, 1e6);
  TestPlace place(*device, 3);
  const Tensor x = place.rows(40, 128);
  Span span{.rows = 40};
  const auto step = [&] {
    for (const RopeTable* table : std::array<const RopeTable*, 2>{&encoder, &decoder}) {
      for (const std::int32_t rows : {40, 1, 8}) {
        span.rows = rows;
        span.position += 4;
        const Spans spans = device->spans(std::span(&span, 1));
        device->rope(x.slice(0, rows), spans, *table);
        device->rope(x.slice(0, rows), spans, *table);
      }
    }
  };
  step();
  const std::int64_t before = counted_allocations();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(counted_allocations(), before);
}

TEST(DeviceRmsNorm, EverySpanHasTheGainOfItsCondition) {
  const std::unique_ptr<Device> device = cpu_with(2);
  TestPlace place(*device, 5);
  const Tensor x = place.rows(30, 33, 4.0F);
  const Tensor gains = place.rows(3, 33);
  const Span batch[] = {{.first_row = 0, .rows = 9, .condition = 2},
                        {.first_row = 9, .rows = 20, .condition = 0},
                        {.first_row = 29, .rows = 1, .condition = 1}};
  const std::vector<float> y =
      floats(*device, device->rms_norm(x, device->spans(batch), gains, 1e-5F));
  for (const Span& span : batch) {
    const std::vector<float> one =
        floats(*device, device->rms_norm(x.slice(span.first_row, span.rows),
                                         gains.slice(span.condition, 1), 1e-5F));
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(y[static_cast<std::size_t>(span.first_row) * 33 + i], one[i]);
    }
  }
}

TEST(DeviceLinear, RowsAndThreadsDoNotChangeABit) {
  for (const std::int32_t out : {16, 40, 200}) {
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 7}) {
      const std::unique_ptr<Device> device = cpu_with(threads);
      TestPlace place(*device, 6);
      const Linear w = place.linear(kFormatBF16, out, 150, true);
      const Tensor x = place.rows(197, 150);
      const Epilogue epilogue{.activation = Activation::kGelu,
                              .gain = place.rows(1, out),
                              .residual = place.rows(197, out)};
      const ArenaScope scratch(device->arena());
      const std::vector<float> all = floats(*device, device->linear(x, w, epilogue));
      if (expected.empty()) expected = all;
      ASSERT_EQ(all, expected) << out << " outputs, " << threads << " threads";
      for (const std::int64_t rows : {1, 5, 97}) {
        std::vector<float> parts;
        for (std::int64_t first = 0; first < 197; first += rows) {
          const ArenaScope inner(device->arena());
          const std::int64_t count = std::min<std::int64_t>(rows, 197 - first);
          Epilogue part = epilogue;
          part.residual = epilogue.residual.slice(first, count);
          const std::vector<float> y =
              floats(*device, device->linear(x.slice(first, count), w, part));
          parts.insert(parts.end(), y.begin(), y.end());
        }
        ASSERT_EQ(parts, expected) << out << " outputs, " << rows << " rows at once";
      }
    }
  }
}

TEST(DeviceLinear, ProjectIsEachProjectionAlone) {
  const std::unique_ptr<Device> device = cpu_with(2);
  TestPlace place(*device, 7);
  const Tensor x = place.rows(11, 20);
  const Linear a = place.linear(kFormatF16, 40, 20, true);
  const Linear b = place.linear(kFormatF32, 7, 20, false);
  const auto [first, second] = device->project(x, a, b);
  EXPECT_EQ(floats(*device, first), floats(*device, device->linear(x, a)));
  EXPECT_EQ(floats(*device, second), floats(*device, device->linear(x, b)));
}

TEST(DeviceSpans, StridesShortenSpansAndRoundTheLastOneUp) {
  const std::unique_ptr<Device> device = cpu_with(1);
  const Span batch[] = {{.first_row = 0, .rows = 8, .position = 16},
                        {.first_row = 8, .rows = 5, .position = 40, .last = true},
                        {.first_row = 13, .rows = 12, .position = 0}};
  const Spans made = device->strided(device->spans(batch), 4);
  const Spans twice = device->strided(made, 1);
  ASSERT_EQ(twice.host.size(), 3U);
  const std::int32_t rows[] = {2, 2, 3};
  const std::int32_t first[] = {0, 2, 4};
  const std::int64_t positions[] = {4, 10, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(made.host[i].rows, rows[i]);
    EXPECT_EQ(twice.host[i].first_row, first[i]);
    EXPECT_EQ(twice.host[i].position, positions[i]);
  }
  EXPECT_DEATH(device->strided(made, 2), "a stride begins at a multiple of itself|ragged");
}

}  // namespace
}  // namespace verbatim
