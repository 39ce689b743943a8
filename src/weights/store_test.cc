// What is stored is read back as it was made, and configs speak of the modules that they mean.
#include "weights/store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weights/name_pattern.h"
#include "weights/quantize.h"
#include "weights/test_layout.h"
#include "weights/test_values.h"

namespace verbatim {
namespace {

constexpr const char* kName = "a.q_proj";

std::string with_config(const std::string& quantization) {
  return "{\"quantization_config\": " + quantization + "}";
}

// Made, stored, and read back under the same name.
void expect_same(const std::string& text, const WeightFormat& source, std::int32_t out,
                 std::int32_t in) {
  const WeightChoice choice = weight_choice("--quant", text);
  const LayoutWriter& writer = layout_writer("--quant", choice);
  const std::vector<std::byte> bytes =
      stored(source, TestValues(3).uniforms(std::int64_t{out} * in, 0.05F));
  const Weight dense = dense_weight(source, bytes, out, in);
  WeightStorage storage, read_storage;
  const Weight made = quantize(dense, choice, kName, storage, nullptr);
  const StoredWeight weight{kName, quantized_shape(dense, choice, kName), &source};
  const std::vector<PlannedTensor> planned = writer.plan(weight);
  const std::vector<std::vector<std::byte>> parts = writer.store(weight, made);
  ASSERT_EQ(planned.size(), parts.size());
  TestLayout file;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ASSERT_EQ(planned[i].bytes(), parts[i].size()) << planned[i].name;
    file.parts[planned[i].name.substr(std::string(kName).size())] = {planned[i].type,
                                                                     planned[i].shape, parts[i]};
  }
  file.config = with_config(writer.config({&weight, 1}, {}));
  const ScratchFolder folder;
  const Checkpoint checkpoint = file.open(folder);
  const WeightLayout& layout = recognise_layout(checkpoint, kName);
  EXPECT_STREQ(layout.name, writer.name);
  const Weight read = layout.read(checkpoint, kName, out, in, read_storage);
  EXPECT_EQ(read.format, made.format);
  EXPECT_EQ(read.group, made.group);
  for (std::size_t p = 0; p < made.planes.size(); ++p) {
    EXPECT_TRUE(std::equal(read.planes[p].begin(), read.planes[p].end(), made.planes[p].begin(),
                           made.planes[p].end()))
        << "plane " << p;
  }
}

TEST(Store, EveryFormatIsReadAsItWasMade) {
  for (const char* text :
       {"nf4", "int4", "int4:32", "int8", "int8:64", "w8a8", "w4a8", "w4a8:32"}) {
    for (const WeightFormat* source : dense_formats()) {
      // Groups that divide, that fit once halved, that are whole rows; rows that end inside a word
      // and inside a byte.
      for (const auto& [out, in] : {std::pair{3, 256}, std::pair{4, 96}, std::pair{5, 64},
                                    std::pair{3, 50}, std::pair{2, 75}}) {
        SCOPED_TRACE(formatted("%s of %s [%d, %d]", text, source->name, out, in));
        expect_same(text, *source, out, in);
      }
    }
  }
}

TEST(Store, WhatNoFileStoresIsRefusedWithWhatCanBeWritten) {
  for (const char* text : {"none", "4w", "8w_hqq"}) {
    const std::string message = message_of(
        Code::kInvalidArgument, [&] { layout_writer("--quant", weight_choice("--quant", text)); });
    EXPECT_TRUE(contains(message, "--quant")) << message;
    EXPECT_TRUE(contains(message, "nf4, int4, int8, w8a8, w4a8")) << message;
    EXPECT_TRUE(contains(message, text)) << message;
  }
}

TEST(Store, AScaleThatItsTypeCannotHoldIsNamed) {
  const std::vector<float> values(64, 0.7F);
  const WeightChoice choice = weight_choice("--quant", "int8");
  const Weight dense = dense_weight(kFormatF32, std::as_bytes(std::span(values)), 1, 64);
  WeightStorage storage;
  const Weight made = quantize(dense, choice, kName, storage, nullptr);
  const StoredWeight weight{kName, quantized_shape(dense, choice, kName), &kFormatF16};
  const std::string message =
      message_of(Code::kCorrupt, [&] { layout_writer("--quant", choice).store(weight, made); });
  EXPECT_TRUE(contains(message, "a.q_proj.weight")) << message;
  EXPECT_TRUE(contains(message, "F16")) << message;
}

StoredWeight weight_of(const std::string& name, std::int32_t in) {
  const WeightChoice choice = weight_choice("--quant", "int4");
  Weight dense;
  dense.format = &kFormatBF16;
  dense.out_features = 8;
  dense.in_features = in;
  return {name, quantized_shape(dense, choice, name), &kFormatBF16};
}

std::vector<std::string> expressions(const std::vector<StoredWeight>& weights,
                                     const std::vector<std::string>& dense) {
  std::vector<std::string> found;
  for (const DenseModule& module : dense_modules(weights, dense))
    found.push_back(module.expression);
  return found;
}

TEST(Store, DenseModulesAreTheLargestWithoutAWeightThatWasMade) {
  const std::vector<StoredWeight> original{
      weight_of("model.language_model.layers.0.self_attn.q_proj", 256)};
  EXPECT_EQ(expressions(original, {"model.acoustic_tokenizer.encoder.stages.0.0.ffn.linear1",
                                   "model.acoustic_tokenizer.encoder.head.conv.conv",
                                   "model.language_model.embed_tokens", "lm_head"}),
            (std::vector<std::string>{"acoustic_tokenizer", "embed_tokens", "lm_head"}));
  const std::vector<StoredWeight> voxtral{
      weight_of("language_model.model.layers.0.self_attn.q_proj", 256),
      weight_of("language_model.model.layers.1.self_attn.q_proj", 256)};
  EXPECT_EQ(expressions(voxtral, {"audio_tower.layers.0.self_attn.q_proj",
                                  "language_model.model.layers.0.ada_rms_norm.linear1",
                                  "language_model.model.layers.1.ada_rms_norm.linear2"}),
            (std::vector<std::string>{"audio_tower", "layers[.][0-9]+[.]ada_rms_norm", "lm_head"}));
}

TEST(Store, WeightsOfSeveralGroupsAreTargetsOfTheirOwn) {
  const std::vector<StoredWeight> weights{weight_of("model.layers.0.mlp.up_proj", 256),
                                          weight_of("model.layers.0.mlp.down_proj", 352),
                                          weight_of("model.layers.1.mlp.down_proj", 352),
                                          weight_of("model.layers.0.mlp.gate_proj", 50)};
  ASSERT_EQ(weights[0].shape.group, 128);
  ASSERT_EQ(weights[1].shape.group, 32);
  ASSERT_EQ(weights[3].shape.group, 50);
  const std::string text =
      layout_writer("--quant", weight_choice("--quant", "int4")).config(weights, {});
  EXPECT_TRUE(contains(text, "\"re:(.*[.])?layers[.][0-9]+[.]mlp[.]down_proj$\"]")) << text;
  EXPECT_TRUE(contains(text, "\"group_size\": 32")) << text;
  EXPECT_TRUE(contains(text, "\"group_size\": 128")) << text;
  EXPECT_TRUE(contains(text, "\"strategy\": \"channel\"")) << text;
  EXPECT_TRUE(contains(text, "group_2")) << text;
  EXPECT_FALSE(contains(text, "\"Linear\"")) << text;
}

TEST(Store, WhatIsDenseIsLeftOutByNameInBothConfigs) {
  const std::vector<StoredWeight> weights{weight_of("model.layers.0.mlp.up_proj", 256)};
  const std::vector<std::string> dense{"model.connector.fc1", "lm_head"};
  const std::string compressed =
      layout_writer("--quant", weight_choice("--quant", "int4")).config(weights, dense);
  EXPECT_TRUE(contains(compressed, R"(["re:(.*[.])?connector([.].*)?$", "lm_head"])"))
      << compressed;
  EXPECT_TRUE(matches_module("re:(.*[.])?connector([.].*)?$", "model.connector.fc1", "test"));
  EXPECT_TRUE(contains(compressed, R"("targets": ["Linear"])")) << compressed;
  const std::string nf4 =
      layout_writer("--quant", weight_choice("--quant", "nf4")).config(weights, dense);
  EXPECT_TRUE(contains(nf4, R"(["connector", "(.*[.])?connector", "lm_head"])")) << nf4;
}

}  // namespace
}  // namespace verbatim
