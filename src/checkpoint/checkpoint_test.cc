// Folders: what opens, and what is refused with the folder, the file and the tensor by name.
#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cstring>
#include <filesystem>
#include <string>

#include "checkpoint/scratch_folder.h"

namespace verbatim {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kGolden = "tests/golden/vibevoice-asr/";

// One tensor of one byte per name, in this order.
std::string file_of(std::initializer_list<const char*> names) {
  std::string header = "{";
  std::size_t offset = 0;
  for (const char* name : names) {
    header += formatted(R"(%s"%s":{"dtype":"U8","shape":[1],"data_offsets":[%zu,%zu]})",
                        offset > 0 ? "," : "", name, offset, offset + 1);
    ++offset;
  }
  return safetensors_bytes(header + "}", std::string(offset, 'x'));
}

std::string refusal(Code code, const std::string& folder) {
  const std::string message = message_of(code, [&] { Checkpoint::open(folder); });
  EXPECT_TRUE(contains(message, folder)) << message;
  return message;
}

// A folder of two shards, a and b in the first and c in the second.
void write_shards(const ScratchFolder& folder) {
  folder.write("config.json", "{}");
  folder.write("one.safetensors", file_of({"a", "b"}));
  folder.write("two.safetensors", file_of({"c"}));
  folder.write(kIndex, R"({"metadata":{"total_size":3},"weight_map":{"c":"two.safetensors",)"
                       R"("a":"one.safetensors","b":"one.safetensors"}})");
}

TEST(Checkpoint, GoldenFoldersOpenWithSortedTensors) {
  for (const char* name : {"hf-f32-taps", "orig-bf16", "hf-segments-context", "orig-segments",
                           "orig-qwen-bf16", "orig-tied-f16"}) {
    const Checkpoint checkpoint = Checkpoint::open(std::string(kGolden) + name);
    const auto tensors = checkpoint.tensors();
    ASSERT_GT(tensors.size(), 100u) << name;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_TRUE(i == 0 || tensors[i - 1].name < tensors[i].name) << tensors[i].name;
      std::int64_t size = raw_type_bytes(tensors[i].type);
      for (const std::int64_t extent : tensors[i].shape) size *= extent;
      EXPECT_EQ(static_cast<std::size_t>(size), tensors[i].bytes.size()) << tensors[i].name;
      EXPECT_EQ(checkpoint.find(tensors[i].name), &tensors[i]);
    }
    EXPECT_TRUE(checkpoint.config().is_object());
  }
}

TEST(Checkpoint, ShardsAreOneListAndNameTheirFile) {
  const Checkpoint checkpoint = Checkpoint::open(std::string(kGolden) + "orig-bf16");
  EXPECT_EQ(checkpoint.tensors().size(), 263u);
  EXPECT_EQ(checkpoint.tensor("model.language_model.layers.0.self_attn.q_proj.weight").file,
            "model-00002-of-00003.safetensors");
}

TEST(Checkpoint, TensorsOfMemoryStandBesideAFoldersConfig) {
  const ScratchFolder folder;
  folder.write("params.json", R"({"dim":2})");
  const std::vector<std::byte> bytes(8);
  const auto tensor = [&](const char* name, std::size_t first, std::int64_t rows) {
    RawTensor made;
    made.name = name;
    made.type = RawType::kBF16;
    made.shape = {rows, 2};
    made.bytes = std::span(bytes).subspan(first, static_cast<std::size_t>(4 * rows));
    return made;
  };
  const Checkpoint checkpoint =
      Checkpoint::of(folder.path(), "params.json", {tensor("b", 2, 1), tensor("a", 0, 2)});
  ASSERT_EQ(checkpoint.tensors().size(), 2u);
  EXPECT_EQ(checkpoint.tensors()[0].name, "a");
  EXPECT_EQ(checkpoint.tensor("b").bytes.data(), bytes.data() + 2);
  EXPECT_TRUE(checkpoint.config().as_object().contains("dim"));
  EXPECT_EQ(checkpoint.config_file(), "params.json");
  checkpoint.release(checkpoint.tensor("b"));  // which nothing maps

  EXPECT_TRUE(contains(
      message_of(
          Code::kCorrupt,
          [&] {
            Checkpoint::of(folder.path(), "params.json", {tensor("a", 0, 1), tensor("a", 4, 1)});
          }),
      "tensor a is in two files"));
  EXPECT_TRUE(contains(
      message_of(Code::kNotFound, [&] { Checkpoint::of(folder.path(), "config.json", {}); }),
      "no config.json"));
}

TEST(Checkpoint, FindsExactNamesOnly) {
  const ScratchFolder folder;
  write_shards(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_NE(checkpoint.find("a"), nullptr);
  EXPECT_EQ(checkpoint.find(""), nullptr);
  EXPECT_EQ(checkpoint.find("aa"), nullptr);
  EXPECT_EQ(checkpoint.find("z"), nullptr);
  EXPECT_TRUE(contains(message_of(Code::kNotFound, [&] { checkpoint.tensor("aa"); }), "aa"));
}

TEST(Checkpoint, AMissingFolderIsNamed) {
  EXPECT_TRUE(contains(refusal(Code::kNotFound, "tests/no-such-folder"), "no such folder"));
  EXPECT_TRUE(
      contains(refusal(Code::kInvalidArgument, "tests/golden/vibevoice-asr/orig-bf16/config.json"),
               "not a folder"));
}

TEST(Checkpoint, AFolderWithoutConfigIsRefused) {
  const ScratchFolder folder;
  folder.write("model.safetensors", file_of({"a"}));
  EXPECT_TRUE(contains(refusal(Code::kNotFound, folder.path()), "no config.json"));
}

TEST(Checkpoint, AConfigThatIsNoJsonIsRefusedByPath) {
  const ScratchFolder folder;
  folder.write("model.safetensors", file_of({"a"}));
  folder.write("config.json", "{\"a\": ");
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, folder.path()), "config.json"));
}

TEST(Checkpoint, AFolderWithoutWeightsSaysWhatWasSought) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  EXPECT_TRUE(contains(refusal(Code::kNotFound, folder.path()),
                       "no model.safetensors and no model.safetensors.index.json"));
  folder.write("pytorch_model.bin", "x");
  EXPECT_TRUE(contains(refusal(Code::kNotFound, folder.path()), "pytorch_model.bin"));
}

TEST(Checkpoint, AnEmptyOrForeignFileIsRefusedByPath) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "");
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, folder.path()), "model.safetensors: truncated"));
  folder.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, folder.path()), "no safetensors file"));
}

TEST(Checkpoint, AMissingShardIsNamedWithATensorThatNeedsIt) {
  const ScratchFolder folder;
  write_shards(folder);
  std::filesystem::remove(folder.path("one.safetensors"));
  const std::string message = refusal(Code::kNotFound, folder.path());
  EXPECT_TRUE(contains(message, "one.safetensors")) << message;
  EXPECT_TRUE(contains(message, "tensor a needs it")) << message;
}

TEST(Checkpoint, AListedTensorThatIsNotInItsShardIsNamed) {
  const ScratchFolder folder;
  write_shards(folder);
  folder.write("one.safetensors", file_of({"a"}));
  const std::string message = refusal(Code::kCorrupt, folder.path());
  EXPECT_TRUE(contains(message, "one.safetensors: tensor b is missing")) << message;
}

TEST(Checkpoint, ATensorThatTheIndexDoesNotListIsNamed) {
  const ScratchFolder folder;
  write_shards(folder);
  folder.write("two.safetensors", file_of({"c", "extra"}));
  const std::string message = refusal(Code::kCorrupt, folder.path());
  EXPECT_TRUE(contains(message, "tensor extra in two.safetensors is not in the index")) << message;
}

TEST(Checkpoint, ATensorInTwoShardsIsNamedWithBoth) {
  const ScratchFolder folder;
  write_shards(folder);
  folder.write("two.safetensors", file_of({"c", "a"}));
  const std::string message = refusal(Code::kCorrupt, folder.path());
  EXPECT_TRUE(contains(message, "tensor a is in two files: one.safetensors and two.safetensors"))
      << message;
}

TEST(Checkpoint, AnIndexReachesNoFileOutsideItsFolder) {
  const ScratchFolder outside;
  outside.write("model.safetensors", file_of({"a"}));
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  const std::string escape =
      "../" + outside.path().substr(outside.path().rfind('/') + 1) + "/model.safetensors";
  ASSERT_TRUE(std::filesystem::exists(folder.path(escape)));
  for (const std::string& shard :
       {escape, outside.path("model.safetensors"), std::string(".."), std::string("."),
        std::string(), std::string("sub/x.safetensors"), std::string("a\\\\b"),
        std::string("x\\u0000.safetensors")}) {
    folder.write(kIndex, R"({"weight_map":{"a":")" + shard + R"("}})");
    const std::string message = refusal(Code::kCorrupt, folder.path());
    EXPECT_TRUE(contains(message, "tensor a: ") && contains(message, "is no plain file name"))
        << message;
  }
}

TEST(Checkpoint, ABrokenIndexIsRefusedByPath) {
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  for (const char* index : {"", "[]", "{}", R"({"weight_map":{}})", R"({"weight_map":["a"]})",
                            R"({"weight_map":{"a":1}})",
                            R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})"}) {
    folder.write(kIndex, index);
    EXPECT_TRUE(contains(refusal(Code::kCorrupt, folder.path()), kIndex)) << index;
  }
}

TEST(Checkpoint, AShardThatIsAFolderIsRefused) {
  const ScratchFolder folder;
  write_shards(folder);
  std::filesystem::remove(folder.path("two.safetensors"));
  std::filesystem::create_directory(folder.path("two.safetensors"));
  EXPECT_TRUE(contains(refusal(Code::kIo, folder.path()), "two.safetensors"));
}

TEST(Checkpoint, LinkedFilesOpenAsInADownloadCache) {
  const ScratchFolder blobs;
  blobs.write("d41d8cd9", file_of({"a"}));
  const ScratchFolder folder;
  folder.write("config.json", "{}");
  std::filesystem::create_symlink(blobs.path("d41d8cd9"), folder.path("model.safetensors"));
  EXPECT_EQ(Checkpoint::open(folder.path()).tensor("a").file, "model.safetensors");
}

TEST(Checkpoint, OtherJsonFilesAreReadOnceOrAbsent) {
  const ScratchFolder folder;
  write_shards(folder);
  folder.write("preprocessor_config.json", R"({"x":1})");
  folder.write("broken.json", "{");
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const boost::json::value* first = checkpoint.json("preprocessor_config.json");
  ASSERT_NE(first, nullptr);
  std::filesystem::remove(folder.path("preprocessor_config.json"));
  EXPECT_EQ(checkpoint.json("preprocessor_config.json"), first);
  EXPECT_FALSE(checkpoint.has_file("preprocessor_config.json"));
  EXPECT_EQ(checkpoint.json("tokenizer.json"), nullptr);
  EXPECT_TRUE(contains(message_of(Code::kCorrupt, [&] { checkpoint.json("broken.json"); }),
                       checkpoint.path("broken.json")));
}

TEST(Checkpoint, ReleasedTensorsStillRead) {
  Checkpoint opened = Checkpoint::open(std::string(kGolden) + "orig-segments");
  const Checkpoint checkpoint(std::move(opened));
  for (const RawTensor& tensor : checkpoint.tensors()) {
    const std::vector<std::byte> before(tensor.bytes.begin(), tensor.bytes.end());
    checkpoint.release(tensor);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), tensor.bytes.begin())) << tensor.name;
  }
}

TEST(Checkpoint, ShapesAreWrittenAsLists) {
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{}), "[]");
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{3584, 512}), "[3584, 512]");
}

}  // namespace
}  // namespace verbatim
