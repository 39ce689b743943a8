// What is written in pieces is read as one checkpoint.
#include "checkpoint/write_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

std::vector<std::byte> counted(std::size_t count, std::size_t first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

const Container& container_with(const std::string& config) {
  for (const Container* each : containers()) {
    if (config == each->config) return *each;
  }
  ADD_FAILURE() << config;
  return *containers().front();
}

class WriteCheckpoint : public testing::Test {
 protected:
  // Five weights, each a unit of 21 bytes: odd ones and wide numbers.
  WriteCheckpoint() {
    for (int i = 0; i < 5; ++i) {
      const std::string name = formatted("layer.%d", i);
      units_.push_back(
          {{name + ".codes", RawType::kU8, {13}}, {name + ".scale", RawType::kF32, {2}}});
    }
  }
  std::size_t write(const std::string& config, std::uint64_t shard_bytes) {
    AtomicFolder folder(scratch_.path("out"));
    write_text(folder, config, "{}");
    CheckpointWriter writer(folder, container_with(config), units_, shard_bytes);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      for (const PlannedTensor& tensor : units_[i])
        writer.write(tensor.name, counted(tensor.bytes(), i));
    }
    writer.finish();
    folder.commit();
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path("out")))
      bytes += entry.file_size();
    EXPECT_EQ(bytes, writer.bytes() + 2);
    return writer.files();
  }
  void expect_all(std::size_t files) const {
    const Checkpoint read = Checkpoint::open(scratch_.path("out"));
    EXPECT_EQ(read.tensors().size(), 10U);
    std::set<std::string> names;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      for (const PlannedTensor& tensor : units_[i]) {
        const RawTensor& raw = read.tensor(tensor.name);
        EXPECT_EQ(raw.type, tensor.type);
        EXPECT_EQ(raw.shape, tensor.shape);
        const std::vector<std::byte> expected = counted(tensor.bytes(), i);
        EXPECT_TRUE(
            std::equal(raw.bytes.begin(), raw.bytes.end(), expected.begin(), expected.end()));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(raw.bytes.data()) %
                      static_cast<std::uintptr_t>(raw_type_bytes(raw.type)),
                  0U);
        names.insert(raw.file);
      }
      EXPECT_EQ(read.tensor(units_[i][0].name).file, read.tensor(units_[i][1].name).file);
    }
    EXPECT_EQ(names.size(), files);
  }
  bool has(const std::string& file) const {
    return std::filesystem::exists(scratch_.path("out/" + file));
  }

  const ScratchFolder scratch_;
  std::vector<std::vector<PlannedTensor>> units_;
};

TEST_F(WriteCheckpoint, OneFileHasThePlainNameAndNoIndex) {
  EXPECT_EQ(write("config.json", kShardBytes), 1U);
  expect_all(1);
  EXPECT_TRUE(has("model.safetensors"));
  EXPECT_FALSE(has("model.safetensors.index.json"));
}

TEST_F(WriteCheckpoint, ShardsAreFilledUpToTheirSizeAndIndexed) {
  EXPECT_EQ(write("config.json", 42), 3U);
  expect_all(3);
  EXPECT_TRUE(has("model-00003-of-00003.safetensors"));
}

TEST_F(WriteCheckpoint, AUnitAboveTheSizeIsAFileOfItsOwn) {
  EXPECT_EQ(write("config.json", 1), 5U);
  expect_all(5);
}

TEST_F(WriteCheckpoint, MistralsFolderHasOneFileWhateverItsSize) {
  EXPECT_EQ(write("params.json", 1), 1U);
  expect_all(1);
  EXPECT_TRUE(has("consolidated.safetensors"));
}

using WriteCheckpointDeathTest = WriteCheckpoint;

TEST_F(WriteCheckpointDeathTest, TensorsComeAsTheyWerePlanned) {
  const AtomicFolder folder(scratch_.path("out"));
  CheckpointWriter writer(folder, container_with("config.json"), units_);
  EXPECT_DEATH(writer.write("layer.0.scale", counted(8, 0)), "as they were planned");
}

}  // namespace
}  // namespace verbatim
