// What `info` and `devices` are told is what an engine is.
#include "engine/describe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "checkpoint/scratch_folder.h"
#include "device/device.h"
#include "engine/small_engine.h"

namespace verbatim {
namespace {

constexpr const char* kQwenTokenizer = "models/qwen2.5-tokenizer/tokenizer.json";

TEST(DescribeModel, ItsNumbersAreTheEngines) {
  for (const char* folder : {kNanoFolder, kTinyFolder}) {
    for (const int slots : {1, 3}) {
      EngineOptions options = small_options(folder);
      options.slots = slots;
      const ModelDescription described = describe_model(options);
      const Engine engine(options);
      EXPECT_EQ(described.weights_bytes, engine.memory().weights);
      EXPECT_EQ(described.arena_bytes, engine.memory().arena);
      EXPECT_EQ(described.context, 512);
      EXPECT_EQ(described.device, engine.device_name());
      EXPECT_EQ(described.family, engine.family());
      EXPECT_EQ(described.name, engine.name());
      EXPECT_EQ(described.sample_rate_hz, engine.sample_rate_hz());
    }
  }
}

TEST(DescribeModel, SaysWhatTheCheckpointIs) {
  const ModelDescription nano = describe_model(small_options(kNanoFolder));
  EXPECT_EQ(nano.family, "vibevoice");
  EXPECT_EQ(nano.name, "vibevoice-asr-nano");
  EXPECT_EQ(nano.folder, kNanoFolder);
  EXPECT_EQ(nano.layout, "original");
  EXPECT_EQ(nano.max_context, 4096);
  EXPECT_EQ(nano.audio_tokens_per_s, 7.5);
  EXPECT_EQ(nano.vocab_size, 896);
  EXPECT_LE(nano.tokenizer_size, 896);
  EXPECT_EQ(nano.tokenizer, std::string(kNanoFolder) + "/tokenizer.json");
  EXPECT_TRUE(std::count(nano.formats.begin(), nano.formats.end(), "bf16") == 1);
  EXPECT_TRUE(std::count(nano.sizes.begin(), nano.sizes.end(),
                         std::pair<std::string, std::string>("hidden_size", "128")) == 1);
  EXPECT_GT(nano.parameters, 4000000);
  EXPECT_EQ(describe_model(small_options("tests/golden/vibevoice-asr/hf-f32-taps")).layout,
            "transformers");
}

// The same sentence, whichever door a checkpoint comes through.
TEST(DescribeModel, RefusesWithTheErrorsOfLoading) {
  ScratchFolder empty, cut, foreign;
  for (const char* file : {"config.json", "tokenizer.json"}) {
    std::filesystem::copy_file(std::string(kTinyFolder) + "/" + file, cut.path(file));
    std::filesystem::copy_file(std::string(kTinyFolder) + "/" + file, foreign.path(file));
  }
  cut.write("model.safetensors", safetensors_bytes("{}", ""));
  foreign.write("config.json", R"({"model_type":"whisper"})");
  foreign.write("model.safetensors", safetensors_bytes("{}", ""));
  const auto at = [](const std::string& folder) { return small_options(folder.c_str()); };
  std::vector<EngineOptions> all = {at("no/such/folder"), at(empty.path()), at(cut.path()),
                                    at(foreign.path()),   at(kTinyFolder),  at(kTinyFolder),
                                    at(kTinyFolder),      at(kTinyFolder),  at(kTinyFolder)};
  all[4].tokenizer = kQwenTokenizer;
  all[5].kv = "f8";
  all[6].device = "abacus";
  all[7].memory_limit_bytes = 1000;
  all[8].isa = "mmx";
  for (const EngineOptions& options : all) {
    std::string loading, describing;
    Code code = Code::kInternal;
    try {
      const Engine engine(options);
    } catch (const Error& error) {
      loading = error.what();
      code = error.code();
    }
    ASSERT_NE(loading, "");
    EXPECT_EQ(message_of(code, [&] { describe_model(options); }), loading);
  }
}

TEST(DescribeDevices, ListsTablesThatOpenTheBestFirst) {
  const std::vector<DeviceDescription> devices = describe_devices();
  ASSERT_GE(devices.size(), 1U);
  const DeviceDescription& cpu = devices.front();
  EXPECT_EQ(cpu.name, "cpu");
  EXPECT_FALSE(cpu.model.empty());
  EXPECT_GT(cpu.physical_cores, 0);
  EXPECT_GE(cpu.cpuset.size(), static_cast<std::size_t>(cpu.physical_cores));
  EXPECT_GT(cpu.memory_bytes, 0U);
  EXPECT_LE(cpu.available_bytes, cpu.memory_bytes);
  ASSERT_GE(cpu.isa_tables.size(), 1U);
  EXPECT_EQ(cpu.isa_tables.back(), "scalar");
  EXPECT_EQ(cpu.chosen, cpu.isa_tables.front());
  for (const std::string& isa : cpu.isa_tables) {
    DeviceOptions options;
    options.isa = isa;
    options.threads = 1;
    options.pin_threads = false;
    EXPECT_TRUE(contains(open_device("cpu", options)->info().name, isa));
  }
  DeviceOptions best;
  best.threads = 1;
  best.pin_threads = false;
  EXPECT_TRUE(contains(open_device("cpu", best)->info().name, cpu.chosen));
}

}  // namespace
}  // namespace verbatim
