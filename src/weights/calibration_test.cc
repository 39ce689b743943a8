// Statistics: written, read, and refused where they are none or another model's.
#include "weights/calibration.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "checkpoint/write_safetensors.h"

namespace verbatim {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

std::vector<SeenInput> two_inputs() {
  return {{{"a.q_proj", "a.k_proj"}, 3, {1, 0, 2.5F}, {}}, {{"a.down_proj"}, 3, {4, 5}, {}}};
}

TEST(Calibration, IsReadAsItWasWritten) {
  const ScratchFolder folder;
  const std::string path = folder.path("stats.safetensors");
  write_calibration(path, two_inputs());
  const Calibration read = read_calibration(path);
  EXPECT_EQ(read.file, path);
  EXPECT_EQ(read.ranges, calibration_of(two_inputs()).ranges);
  EXPECT_EQ(read.ranges.size(), 3U);
  EXPECT_EQ(read.ranges.at("a.k_proj"), (std::vector<float>{1, 0, 2.5F}));
  read.check_weights({{"a.q_proj", 3}, {"a.k_proj", 3}, {"a.down_proj", 2}});
}

TEST(Calibration, WhatWasNotFiniteIsNotWritten) {
  const ScratchFolder folder;
  std::vector<SeenInput> seen = two_inputs();
  seen[1].largest[1] = kInfinity;
  const std::string said = message_of(
      Code::kCorrupt, [&] { write_calibration(folder.path("stats.safetensors"), seen); });
  EXPECT_EQ(said, "a.down_proj: input feature 1 was not finite");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// The sentence by which a file with one such tensor is refused.
std::string refusal(RawType type, const std::vector<std::int64_t>& shape,
                    const std::vector<float>& values) {
  const ScratchFolder folder;
  const std::string path = folder.path("stats.safetensors");
  write_safetensors(
      path, std::vector<NamedTensor>{{"a.q_proj", type, shape, std::as_bytes(std::span(values))}});
  std::string said = message_of(Code::kCorrupt, [&] { read_calibration(path); });
  EXPECT_EQ(said.rfind(path, 0), 0U) << said;
  return said.substr(path.size());
}

TEST(Calibration, TensorsThatAreNoStatisticsAreNamed) {
  EXPECT_EQ(refusal(RawType::kI32, {2}, {0, 0}),
            ": a.q_proj: expected F32 [in_features], found I32 [2]");
  EXPECT_EQ(refusal(RawType::kF32, {1, 2}, {0, 0}),
            ": a.q_proj: expected F32 [in_features], found F32 [1, 2]");
  EXPECT_EQ(refusal(RawType::kF32, {3}, {0, 1, -0.5F}),
            ": a.q_proj: expected finite numbers from 0, found -0.5 for input feature 2");
  EXPECT_EQ(refusal(RawType::kF32, {2}, {0, kNan}),
            ": a.q_proj: expected finite numbers from 0, found nan for input feature 1");
  EXPECT_EQ(refusal(RawType::kF32, {2}, {kInfinity, 0}),
            ": a.q_proj: expected finite numbers from 0, found inf for input feature 0");
}

TEST(Calibration, FilesThatAreNoneAreNamed) {
  const ScratchFolder folder;
  const std::string path = folder.path("stats.safetensors");
  EXPECT_NE(message_of(Code::kNotFound, [&] { read_calibration(path); }).find(path),
            std::string::npos);
  folder.write("stats.safetensors", "RIFF and so on");
  EXPECT_NE(message_of(Code::kCorrupt, [&] { read_calibration(path); }).find(path),
            std::string::npos);
  write_safetensors(path, {});
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { read_calibration(path); }),
            path + ": expected statistics of weights, found no tensor");
}

TEST(Calibration, StatisticsOfAnotherModelAreNamed) {
  Calibration known = calibration_of(two_inputs());
  known.file = "s";
  const auto said = [&](const std::map<std::string, std::int32_t, std::less<>>& weights) {
    return message_of(Code::kCorrupt, [&] { known.check_weights(weights); });
  };
  const std::string front = "s: statistics of another model: ";
  EXPECT_EQ(said({{"a.q_proj", 3}, {"a.k_proj", 3}, {"a.down_proj", 2}, {"a.up_proj", 3}}),
            front + "it has none of a.up_proj");
  EXPECT_EQ(said({{"a.q_proj", 3}, {"a.k_proj", 3}}),
            front + "the checkpoint has no weight a.down_proj");
  EXPECT_EQ(said({{"a.q_proj", 3}, {"a.k_proj", 4}, {"a.down_proj", 2}}),
            front + "a.k_proj: expected 4 input features, found 3");
  EXPECT_EQ(known.range("a.down_proj", 2)[1], 5.0F);
}

}  // namespace
}  // namespace verbatim
