// A checkpoint that was written loads as the dense one does with --quant, and one that cannot be
// written leaves nothing.
#include "engine/quantize.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "engine/describe.h"
#include "engine/small_engine.h"
#include "models/changed_checkpoint.h"
#include "weights/quantize.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

const std::string kVibeVoice = vibevoice::kGolden;
const std::string kVoxtral = voxtral::kGolden;

EngineOptions quantizing(const std::string& folder, const std::string& quant) {
  EngineOptions options = small_options(folder);
  options.fallback_tokenizer = "models/qwen2.5-tokenizer/tokenizer.json";
  options.quant.decoder = weight_choice("--quant", quant);
  options.threads = 2;
  options.max_context = 0;
  return options;
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// The weight that loading makes, and the one that was written.
void expect_same_weight(const Checkpoint& from, const Checkpoint& to, const std::string& name,
                        const WeightChoice& choice) {
  SCOPED_TRACE(name);
  const RawTensor& raw = from.tensor(name + ".weight");
  const auto out = static_cast<std::int32_t>(raw.shape[0]);
  const auto in = static_cast<std::int32_t>(raw.shape[1]);
  WeightStorage dense_storage, storage;
  const Weight dense = recognise_layout(from, name).read(from, name, out, in, dense_storage);
  const Weight made = quantize(dense, choice, name, dense_storage, nullptr);
  const Weight read = recognise_layout(to, name).read(to, name, out, in, storage);
  EXPECT_EQ(read.format, made.format);
  EXPECT_EQ(read.group, made.group);
  for (std::size_t p = 0; p < made.planes.size(); ++p)
    EXPECT_TRUE(same_bytes(read.planes[p], made.planes[p])) << "plane " << p;
}

void expect_round_trip(const std::string& folder, const std::string& quant) {
  SCOPED_TRACE(folder + " " + quant);
  flush_denormals();
  const ScratchFolder scratch;
  const EngineOptions options = quantizing(folder, quant);
  const QuantizedCheckpoint done = quantize_checkpoint(options, scratch.path("out"));
  const Checkpoint from = Checkpoint::open(folder), to = Checkpoint::open(scratch.path("out"));
  EXPECT_EQ(from.config_file(), to.config_file());
  std::size_t made = 0;
  for (const RawTensor& raw : from.tensors()) {
    const RawTensor* kept = to.find(raw.name);
    if (kept != nullptr && kept->type == raw.type) {
      EXPECT_EQ(kept->shape, raw.shape);
      EXPECT_TRUE(same_bytes(kept->bytes, raw.bytes)) << raw.name;
      continue;
    }
    ++made;
    ASSERT_TRUE(raw.name.ends_with(".weight")) << raw.name;
    expect_same_weight(from, to, raw.name.substr(0, raw.name.size() - 7), options.quant.decoder);
  }
  EngineOptions written = options;
  written.model = scratch.path("out");
  written.quant = {};
  const ModelDescription now = describe_model(written), then = describe_model(options);
  EXPECT_EQ(now.formats, then.formats);
  EXPECT_EQ(now.weights_bytes, then.weights_bytes);
  const auto layers = std::find_if(now.sizes.begin(), now.sizes.end(), [](const auto& size) {
    return size.first == "num_hidden_layers";
  });
  ASSERT_NE(layers, now.sizes.end());
  EXPECT_EQ(made, 7U * static_cast<std::size_t>(std::stoi(layers->second)));
  EXPECT_EQ(done.weights, made);
  EXPECT_LT(done.written_bytes, done.read_bytes);
}

TEST(Quantize, EveryFormatLoadsAsItIsMadeAtLoad) {
  for (const char* quant : {"nf4", "int4", "int4:32", "int8", "w8a8", "w4a8"}) {
    expect_round_trip(vibevoice::kNano, quant);
    expect_round_trip(voxtral::kNano, quant);
  }
}

TEST(Quantize, EveryLayoutOfNamesIsWrittenAsItWasRead) {
  expect_round_trip(kVibeVoice + "hf-f32-taps", "w4a8");
  expect_round_trip(kVibeVoice + "orig-qwen-bf16", "nf4");
  expect_round_trip(kVibeVoice + "orig-tied-f16", "w4a8");
  expect_round_trip(kVoxtral + "hf-f32", "nf4");
  expect_round_trip(kVoxtral + "hub-bf16", "w4a8");
  expect_round_trip(kVoxtral + "heads-mistral-bf16", "nf4");
  expect_round_trip(kVoxtral + "delay-eos-hf-bf16", "w4a8");
}

std::string heard(const EngineOptions& options, const std::vector<float>& clip) {
  Engine engine(options);
  Client client(engine.open("", short_answer(24), 0), clip);
  run(engine);
  client.listen();
  return said(client.transcript());
}

TEST(Quantize, TranscriptsAreThoseOfTheSameFormatMadeAtLoad) {
  const std::vector<float> clip = nano_sample("two-speakers.wav");
  for (const char* quant : {"int4", "w8a8"}) {
    const ScratchFolder scratch;
    EngineOptions options = quantizing(kNanoFolder, quant);
    quantize_checkpoint(options, scratch.path("out"));
    const std::string at_load = heard(options, clip);
    options.model = scratch.path("out");
    options.quant = {};
    EXPECT_EQ(heard(options, clip), at_load);
  }
}

TEST(Quantize, WhatStandsBesideTheTensorsIsKept) {
  const ScratchFolder scratch;
  quantize_checkpoint(quantizing(kVoxtral + "hub-bf16", "int8"), scratch.path("out"));
  const auto text = [](const std::string& path) { return read_file(path, 1 << 26); };
  for (const char* file : {"tekken.json", "processor_config.json", "generation_config.json"})
    EXPECT_EQ(text(scratch.path("out/") + file), text(kVoxtral + "hub-bf16/" + file));
  // The other container's files would speak of tensors that are not there.
  for (const char* file : {"config.json", "model.safetensors"})
    EXPECT_FALSE(fs::exists(scratch.path("out/") + file));
  std::string before = text(kVoxtral + "hub-bf16/params.json");
  before.resize(before.find_last_not_of("} \n") + 1);
  const std::string after = text(scratch.path("out/params.json"));
  EXPECT_TRUE(after.starts_with(before.substr(0, before.rfind('\n'))));
  EXPECT_TRUE(contains(after, "\"quantization_config\": {"));
}

// Nothing is left beside the model's folder.
std::string refusal(Code code, const EngineOptions& options) {
  const ScratchFolder scratch;
  const std::string message =
      message_of(code, [&] { quantize_checkpoint(options, scratch.path("out")); });
  EXPECT_TRUE(fs::is_empty(scratch.path()));
  return message;
}

TEST(Quantize, WhatIsQuantisedAlreadyIsNamed) {
  for (const char* folder : {"quant-nf4", "quant-ct-w8a8", "quant-gptq-sym"}) {
    const std::string message =
        refusal(Code::kInvalidArgument, quantizing(kVibeVoice + folder, "int4"));
    EXPECT_TRUE(contains(message, "layers.0.self_attn.q_proj")) << message;
    EXPECT_TRUE(contains(message, "already")) << message;
  }
  ChangedCheckpoint said_only(kTinyFolder);
  said_only.set("config.json", "quantization_config", R"({"quant_method": "awq"})");
  const std::string message =
      refusal(Code::kInvalidArgument, quantizing(said_only.write(), "int4"));
  EXPECT_TRUE(contains(message, "quantization_config")) << message;
}

TEST(Quantize, AFieldThatIsNullIsReplaced) {
  ChangedCheckpoint changed(kTinyFolder);
  changed.set("config.json", "quantization_config", "null");
  expect_round_trip(changed.write(), "int8");
}

TEST(Quantize, AWeightThatIsNotFiniteIsNamedAndNothingIsLeft) {
  ChangedCheckpoint changed(kTinyFolder);
  NamedTensor& tensor = changed.tensor("model.language_model.layers.1.mlp.down_proj.weight");
  std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
  std::fill(bytes.begin() + 4, bytes.begin() + 8, std::byte{0xff});
  tensor.bytes = bytes;
  const std::string message = refusal(Code::kCorrupt, quantizing(changed.write(), "int8"));
  EXPECT_TRUE(contains(message, "layers.1.mlp.down_proj")) << message;
}

TEST(Quantize, AnOutputInsideTheModelIsRefused) {
  ChangedCheckpoint changed(kTinyFolder);
  const std::string folder = changed.write();
  fs::create_directory(folder + "/empty");
  for (const std::string& output :
       {folder, folder + "/", folder + "/new", folder + "/empty", folder + "/empty/../x"}) {
    const std::string message = message_of(Code::kInvalidArgument, [&] {
      quantize_checkpoint(quantizing(folder + "/", "int8"), output);
    });
    EXPECT_TRUE(contains(message, "--output")) << message;
    EXPECT_TRUE(contains(message, output)) << message;
  }
  message_of(Code::kInvalidArgument, [&] { quantize_checkpoint(quantizing(folder, "int8"), ""); });
}

TEST(Quantize, AnInterruptLeavesNothing) {
  EngineOptions options = quantizing(kTinyFolder, "int8");
  options.loading = [](double share) { set_interrupted(share > 0.5); };
  refusal(Code::kCancelled, options);
  set_interrupted(false);
}

TEST(Quantize, AFullDiskLeavesNothing) {
  void (*handler)(int) = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{rlim_t{1} << 17, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = refusal(Code::kIo, quantizing(kTinyFolder, "int8"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(contains(message, "out/")) << message;
}

TEST(Quantize, ThreadsDoNotChangeAByte) {
  std::string first;
  for (const int threads : {1, 3}) {
    const ScratchFolder scratch;
    EngineOptions options = quantizing(kTinyFolder, "int4");
    options.threads = threads;
    quantize_checkpoint(options, scratch.path("out"));
    const std::string bytes = read_file(scratch.path("out/model.safetensors"), 1 << 26);
    if (threads == 1) first = bytes;
    EXPECT_TRUE(bytes == first);
  }
}

}  // namespace
}  // namespace verbatim
