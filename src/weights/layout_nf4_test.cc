// bitsandbytes NF4: nibbles, blocks that cross rows, quantised scales, and refusals by name.
#include <gtest/gtest.h>

#include <cmath>

#include "weights/test_layout.h"

namespace verbatim {
namespace {

constexpr std::int32_t kOut = 3;
constexpr std::int32_t kIn = 50;  // 150 elements in blocks of 64: two of them cross rows

std::vector<float> book() {
  std::vector<float> values;
  for (int i = 0; i < 16; ++i) values.push_back(static_cast<float>(i) - 8.0F);
  return values;
}

constexpr const char* kState =
    R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [3, 50]})";
constexpr const char* kNestedState =
    R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [3, 50],
        "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.5})";
constexpr const char* kStateName = ".weight.quant_state.bitsandbytes__nf4";

// Element e has code e % 16; block b the scale b + 1.
TestLayout plain() {
  TestLayout made;
  std::vector<std::uint8_t> bytes;
  for (int e = 0; e < kOut * kIn; e += 2)
    bytes.push_back(static_cast<std::uint8_t>((e % 16) << 4 | (e + 1) % 16));
  made.parts[".weight"] = test_tensor(RawType::kU8, {75, 1}, bytes);
  made.parts[".weight.absmax"] = test_tensor(RawType::kF32, {3}, std::vector<float>{1, 2, 3});
  made.parts[".weight.quant_map"] = test_tensor(RawType::kF32, {16}, book());
  made.parts[kStateName] = test_text(kState);
  return made;
}

std::vector<float> expected(const std::vector<float>& scales) {
  std::vector<float> values;
  for (std::size_t e = 0; e < kOut * kIn; ++e)
    values.push_back((static_cast<float>(e % 16) - 8.0F) * scales[e / 64]);
  return values;
}

TEST(LayoutNf4, BlocksRunOnFromRowToRow) {
  EXPECT_EQ(plain().values(kOut, kIn), expected({1, 2, 3}));
}

TEST(LayoutNf4, RowsOfAnOddLengthBeginInsideAByte) {
  TestLayout file = plain();
  file.parts[kStateName] =
      test_text(R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [2, 75]})");
  EXPECT_EQ(file.values(2, 75), expected({1, 2, 3}));
}

TEST(LayoutNf4, QuantisedScalesAreCodeTimesScalePlusOffset) {
  TestLayout file = plain();
  file.parts[".weight.absmax"] =
      test_tensor(RawType::kU8, {3}, std::vector<std::uint8_t>{2, 0, 255});
  std::vector<float> map;
  for (int i = 0; i < 256; ++i) map.push_back(static_cast<float>(i) * 0.25F);
  file.parts[".weight.nested_absmax"] = test_tensor(RawType::kF32, {1}, std::vector<float>{2});
  file.parts[".weight.nested_quant_map"] = test_tensor(RawType::kF32, {256}, map);
  file.parts[kStateName] = test_text(kNestedState);
  EXPECT_EQ(file.values(kOut, kIn), expected({1.5F, 0.5F, 128.0F}));
}

TEST(LayoutNf4, TheDtypeThatNibblesAreKeptAsChangesNothing) {
  TestLayout file = plain();
  file.parts[kStateName] =
      test_text(R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [2, 64]})");
  file.parts[".weight"].bytes.resize(64);
  file.parts[".weight.absmax"] = test_tensor(RawType::kF32, {2}, std::vector<float>{1, 2});
  std::vector<float> wanted = expected({1, 2, 3});
  wanted.resize(128);
  for (const auto& [type, size] : {std::pair{RawType::kU8, 1}, std::pair{RawType::kBF16, 2},
                                   std::pair{RawType::kF16, 2}, std::pair{RawType::kF32, 4}}) {
    file.parts[".weight"].type = type;
    file.parts[".weight"].shape = {64 / size, 1};
    EXPECT_EQ(file.values(2, 64), wanted) << raw_type_name(type);
  }
}

TEST(LayoutNf4, PartsThatDoNotFitAreNamed) {
  TestLayout file = plain();
  file.parts[".weight"] = test_tensor(RawType::kU8, {74, 1}, std::vector<std::uint8_t>(74));
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight: expected 75 bytes of nibbles, found [74, 1] of U8, 74 bytes, in "
            "model.safetensors");
  file = plain();
  file.parts[".weight.absmax"] = test_tensor(RawType::kF32, {2}, std::vector<float>{1, 2});
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight.absmax: expected [3], found [2] in model.safetensors");
  file = plain();
  file.parts[".weight.absmax"] = test_tensor(RawType::kF32, {3}, std::vector<float>{1, NAN, 3});
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight.absmax: value 1 is NaN in model.safetensors, expected finite numbers");
  file = plain();
  file.parts[".weight.absmax"] = test_tensor(RawType::kU8, {3}, std::vector<std::uint8_t>(3));
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight.absmax: expected dtype F32, found U8 in model.safetensors");
  EXPECT_EQ(plain().error(Code::kCorrupt, kIn, kOut),
            "a.q_proj.weight.quant_state.bitsandbytes__nf4: shape: expected [50, 3], found [3,50]");
}

TEST(LayoutNf4, StatesThatAreNotNf4AreNamed) {
  TestLayout file = plain();
  file.parts[kStateName] = test_text("{");
  EXPECT_TRUE(contains(file.error(Code::kCorrupt, kOut, kIn), kStateName));
  file.parts[kStateName] = test_text(R"({"quant_type": "fp4", "blocksize": 64})");
  EXPECT_TRUE(contains(file.error(Code::kCorrupt, kOut, kIn), "quant_type: found 'fp4'"));
  file.parts[".weight.quant_state.bitsandbytes__fp4"] = test_text("{}");
  EXPECT_TRUE(contains(file.error(Code::kUnsupported, kOut, kIn), "bitsandbytes fp4"));
}

TEST(LayoutNf4, AConfigThatContradictsTheTensorsIsNamed) {
  TestLayout file = plain();
  file.config = R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true,
                    "bnb_4bit_use_double_quant": true}})";
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "config.json: quantization_config.bnb_4bit_use_double_quant is true, but "
            "a.q_proj.weight.absmax is not quantised");
  file.config = R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true,
                    "llm_int8_skip_modules": ["lm_head", "q_proj"]}})";
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: it is quantised, but config.json: quantization_config leaves out 'q_proj'");
  file.config = R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32}})";
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: its tensors are of bitsandbytes, but config.json: quantization_config says "
            "awq");
}

TEST(LayoutNf4, SegmentsEndAfterWhatSharesAScale) {
  const ScratchFolder folder;
  const Checkpoint checkpoint = plain().open(folder);
  WeightStorage storage;
  const Weight weight =
      recognise_layout(checkpoint, "a.q_proj").read(checkpoint, "a.q_proj", kOut, kIn, storage);
  EXPECT_EQ(weight.group, 2);
  EXPECT_EQ(weight.rounded_to, DType::kBF16);
  EXPECT_EQ(weight.format->segment_end(weight, 0), 2);
  EXPECT_EQ(weight.format->segment_end(weight, 3), 4);
  EXPECT_EQ(weight.format->segment_end(weight, 49), 50);
}

}  // namespace
}  // namespace verbatim
