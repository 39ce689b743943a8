// compressed-tensors: bytes and packed words, every strategy of scales, and refusals by name.
#include <gtest/gtest.h>

#include <cmath>

#include "weights/test_layout.h"

namespace verbatim {
namespace {

constexpr std::int32_t kOut = 9;
constexpr std::int32_t kIn = 20;  // not a whole number of words

std::string config(const std::string& format, const std::string& weights,
                   const std::string& activations = "null") {
  return R"({"quantization_config": {"quant_method": "compressed-tensors", "format": ")" + format +
         R"(", "config_groups": {"g": {"targets": ["Linear"], "weights": )" + weights +
         R"(, "input_activations": )" + activations + "}}}}";
}
constexpr const char* kPackedGroups =
    R"({"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group", "group_size": 10})";
constexpr const char* kRows =
    R"({"num_bits": 8, "type": "int", "symmetric": true, "strategy": "token", "dynamic": true})";

std::int32_t code(std::int32_t n, std::int32_t k, std::int32_t bits) {
  return (7 * n + 3 * k) % (1 << bits) - (1 << (bits - 1));
}

TestTensor packed(std::int32_t bits) {
  const std::int32_t each = 32 / bits;
  std::vector<std::uint32_t> words;
  for (std::int32_t n = 0; n < kOut; ++n) {
    for (std::int32_t k = 0; k < kIn; ++k) {
      if (k % each == 0) words.push_back(0);
      words.back() |= static_cast<std::uint32_t>(code(n, k, bits) + (1 << (bits - 1)))
                      << (bits * (k % each));
    }
  }
  return test_tensor(RawType::kI32, {kOut, (kIn + each - 1) / each}, words);
}

float scale(std::int32_t n, std::int32_t g) {
  return std::ldexp(1.0F, g - n % 4);
}
TestTensor scales(std::int32_t groups) {
  std::vector<float> values;
  for (std::int32_t n = 0; n < kOut; ++n) {
    for (std::int32_t g = 0; g < groups; ++g) values.push_back(scale(n, g));
  }
  return test_tensor(RawType::kF32, {kOut, groups}, values);
}
TestTensor shape() {
  return test_tensor(RawType::kI64, {2}, std::vector<std::int64_t>{kOut, kIn});
}

TestLayout packed_groups() {
  TestLayout made;
  made.config = config("pack-quantized", kPackedGroups);
  made.parts[".weight_packed"] = packed(4);
  made.parts[".weight_shape"] = shape();
  made.parts[".weight_scale"] = scales(2);
  return made;
}

TestLayout bytes(const std::string& strategy, TestTensor scale_tensor) {
  TestLayout made;
  made.config = config("int-quantized", R"({"num_bits": 8, "strategy": )" + strategy + "}", kRows);
  std::vector<std::int8_t> codes;
  for (std::int32_t n = 0; n < kOut; ++n) {
    for (std::int32_t k = 0; k < kIn; ++k) codes.push_back(static_cast<std::int8_t>(code(n, k, 8)));
  }
  made.parts[".weight"] = test_tensor(RawType::kI8, {kOut, kIn}, codes);
  made.parts[".weight_scale"] = std::move(scale_tensor);
  return made;
}

// value(n, k) of every element.
template <typename Value>
std::vector<float> expected(const Value& value) {
  std::vector<float> made;
  for (std::int32_t n = 0; n < kOut; ++n) {
    for (std::int32_t k = 0; k < kIn; ++k) made.push_back(value(n, k));
  }
  return made;
}

TEST(LayoutCompressed, PackedWordsOfGroupsChannelsAndEightBits) {
  TestLayout file = packed_groups();
  EXPECT_EQ(file.values(kOut, kIn), expected([](auto n, auto k) {
              return static_cast<float>(code(n, k, 4)) * scale(n, k / 10);
            }));
  file.config = config("pack-quantized", R"({"num_bits": 8, "strategy": "channel"})");
  file.parts[".weight_packed"] = packed(8);
  file.parts[".weight_scale"] = scales(1);
  EXPECT_EQ(file.values(kOut, kIn), expected([](auto n, auto k) {
              return static_cast<float>(code(n, k, 8)) * scale(n, 0);
            }));
}

TEST(LayoutCompressed, ZeroPointsArePackedAlongTheOutputsOrBytes) {
  TestLayout file = packed_groups();
  file.config = config("pack-quantized",
                       R"({"num_bits": 4, "symmetric": false, "strategy": "group",
                           "group_size": 10})");
  std::vector<std::uint32_t> words(4);
  std::vector<std::int8_t> plain;
  const auto zero = [](std::int32_t n, std::int32_t g) { return (n + 3 * g) % 16 - 8; };
  for (std::int32_t n = 0; n < kOut; ++n) {
    for (std::int32_t g = 0; g < 2; ++g) {
      words[static_cast<std::size_t>(n / 8 * 2 + g)] |= static_cast<std::uint32_t>(zero(n, g) + 8)
                                                        << (4 * (n % 8));
      plain.push_back(static_cast<std::int8_t>(zero(n, g)));
    }
  }
  const std::vector<float> wanted = expected([&](auto n, auto k) {
    return static_cast<float>(code(n, k, 4) - zero(n, k / 10)) * scale(n, k / 10);
  });
  file.parts[".weight_zero_point"] = test_tensor(RawType::kI32, {2, 2}, words);
  EXPECT_EQ(file.values(kOut, kIn), wanted);
  file.parts[".weight_zero_point"] = test_tensor(RawType::kI8, {kOut, 2}, plain);
  EXPECT_EQ(file.values(kOut, kIn), wanted);
  file.parts.erase(".weight_zero_point");
  EXPECT_TRUE(contains(file.error(Code::kNotFound, kOut, kIn), "a.q_proj.weight_zero_point"));
}

TEST(LayoutCompressed, AnOrderSaysTheGroupOfEachFeature) {
  TestLayout file = packed_groups();
  std::vector<std::int32_t> groups;
  for (std::int32_t k = 0; k < kIn; ++k) groups.push_back((k + 1) % 2);
  file.parts[".weight_g_idx"] = test_tensor(RawType::kI32, {kIn}, groups);
  EXPECT_EQ(file.values(kOut, kIn), expected([](auto n, auto k) {
              return static_cast<float>(code(n, k, 4)) * scale(n, (k + 1) % 2);
            }));
  file.config = config("pack-quantized", kPackedGroups, kRows);
  EXPECT_TRUE(contains(file.error(Code::kUnsupported, kOut, kIn), "a.q_proj: int8 activations"));
}

TEST(LayoutCompressed, BytesOfAChannelATensorOrAGroup) {
  EXPECT_EQ(bytes("\"channel\"", scales(1)).values(kOut, kIn), expected([](auto n, auto k) {
              return static_cast<float>(code(n, k, 8)) * scale(n, 0);
            }));
  EXPECT_EQ(bytes("\"tensor\"", test_tensor(RawType::kF32, {1}, std::vector<float>{0.5F}))
                .values(kOut, kIn),
            expected([](auto n, auto k) { return static_cast<float>(code(n, k, 8)) * 0.5F; }));
  TestLayout groups = bytes("\"group\", \"group_size\": 10", scales(2));
  EXPECT_TRUE(contains(groups.error(Code::kUnsupported, kOut, kIn), "a.q_proj: int8 activations"));
  groups.config =
      config("int-quantized", R"({"num_bits": 8, "strategy": "group", "group_size": 10})");
  EXPECT_EQ(groups.values(kOut, kIn), expected([](auto n, auto k) {
              return static_cast<float>(code(n, k, 8)) * scale(n, k / 10);
            }));
}

TEST(LayoutCompressed, BitsAndActivationsChooseTheFormat) {
  const auto format = [](const TestLayout& file) {
    const ScratchFolder folder;
    const Checkpoint checkpoint = file.open(folder);
    WeightStorage storage;
    return std::string(recognise_layout(checkpoint, "a.q_proj")
                           .read(checkpoint, "a.q_proj", kOut, kIn, storage)
                           .format->name);
  };
  EXPECT_EQ(format(packed_groups()), "int4");
  EXPECT_EQ(format(bytes("\"channel\"", scales(1))), "w8a8");
  TestLayout file = packed_groups();
  file.config = config("pack-quantized", R"({"num_bits": 4, "strategy": "channel"})", kRows);
  file.parts[".weight_scale"] = scales(1);
  EXPECT_EQ(format(file), "w4a8");
  file = bytes("\"channel\"", scales(1));
  file.config = config("int-quantized", R"({"num_bits": 8, "strategy": "channel"})");
  EXPECT_EQ(format(file), "int8");
}

TEST(LayoutCompressed, PartsThatDoNotFitAreNamed) {
  TestLayout file = packed_groups();
  file.parts[".weight_packed"] =
      test_tensor(RawType::kI32, {kOut, 2}, std::vector<std::uint32_t>(kOut * 2));
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight_packed: expected [9, 3], found [9, 2] in model.safetensors");
  file = packed_groups();
  file.parts[".weight_shape"] =
      test_tensor(RawType::kI32, {2}, std::vector<std::int32_t>{kOut, kIn + 1});
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight_shape: expected [9, 20], found [9, 21] in model.safetensors");
  file = packed_groups();
  file.parts[".weight_scale"] =
      test_tensor(RawType::kI32, {kOut, 2}, std::vector<std::int32_t>(kOut * 2));
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight_scale: expected dtype BF16, F16, F32, found I32 in model.safetensors");
  file = packed_groups();
  file.parts[".weight_zero_point"] =
      test_tensor(RawType::kI32, {2, 2}, std::vector<std::uint32_t>(4));
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.weight_zero_point in model.safetensors: a tensor of zero points, but "
            "config.json: quantization_config.config_groups.g says symmetric");
  file = packed_groups();
  file.config = config("int-quantized", R"({"num_bits": 8, "strategy": "channel"})");
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: its tensors are pack-quantized, but config.json: "
            "quantization_config.config_groups.g says int-quantized");
  file.config =
      config("pack-quantized", R"({"num_bits": 4, "strategy": "group", "group_size": 16})");
  EXPECT_TRUE(contains(file.error(Code::kCorrupt, kOut, kIn), "in groups of 16"));
}

}  // namespace
}  // namespace verbatim
