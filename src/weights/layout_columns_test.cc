// AWQ and GPTQ: words, zero points, groups and orders as their packers write them, and refusals by
// name.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "weights/test_layout.h"

namespace verbatim {
namespace {

constexpr std::int32_t kOut = 16;
constexpr std::int32_t kIn = 24;
constexpr std::int32_t kGroup = 8;
constexpr std::int32_t kGroups = 3;
constexpr std::uint16_t kHalfOne = 0x3c00;

constexpr const char* kAwqConfig =
    R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 8}})";
constexpr const char* kGptqConfig =
    R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8}})";

std::int32_t code(std::int32_t n, std::int32_t k) {
  return (3 * n + 5 * k) % 16;
}
std::int32_t zero(std::int32_t n, std::int32_t g) {
  return (n + g) % 16 + 1;  // up to 16, which only GPTQ's first version can say
}
// 2^(g - n % 3), exact in every dtype
float scale(std::int32_t n, std::int32_t g) {
  return std::ldexp(1.0F, g - n % 3);
}

TestTensor scales(RawType type) {
  std::vector<std::uint16_t> bits;
  for (std::int32_t g = 0; g < kGroups; ++g) {
    for (std::int32_t n = 0; n < kOut; ++n) {
      bits.push_back(static_cast<std::uint16_t>(
          type == RawType::kF16 ? kHalfOne + (g - n % 3) * 0x400 : 0x3f80 + (g - n % 3) * 0x80));
    }
  }
  return test_tensor(type, {kGroups, kOut}, bits);
}

// Words of eight codes along the columns of a table: value(row, column), in these slots.
TestTensor words(std::int32_t rows, std::int32_t columns, const std::array<int, 8>& slots,
                 const std::function<std::int32_t(std::int32_t, std::int32_t)>& value) {
  std::vector<std::uint32_t> made;
  for (std::int32_t r = 0; r < rows; ++r) {
    for (std::int32_t c = 0; c < columns; ++c) {
      if (c % 8 == 0) made.push_back(0);
      made.back() |= static_cast<std::uint32_t>(value(r, c))
                     << (4 * slots[static_cast<std::size_t>(c % 8)]);
    }
  }
  return test_tensor(RawType::kI32, {rows, columns / 8}, made);
}
constexpr std::array<int, 8> kInOrder{0, 1, 2, 3, 4, 5, 6, 7};

TestLayout awq() {
  constexpr std::array<int, 8> kInterleaved{0, 4, 1, 5, 2, 6, 3, 7};
  TestLayout made;
  made.config = kAwqConfig;
  made.parts[".qweight"] =
      words(kIn, kOut, kInterleaved, [](auto k, auto n) { return code(n, k); });
  made.parts[".qzeros"] =
      words(kGroups, kOut, kInterleaved, [](auto g, auto n) { return zero(n, g) - 1; });
  made.parts[".scales"] = scales(RawType::kF16);
  return made;
}

// Feature k is in group_of(k).
TestLayout gptq(const std::function<std::int32_t(std::int32_t)>& group_of) {
  TestLayout made;
  made.config = kGptqConfig;
  std::vector<std::uint32_t> codes;
  for (std::int32_t block = 0; block < kIn / 8; ++block) {
    for (std::int32_t n = 0; n < kOut; ++n) {
      codes.push_back(0);
      for (std::int32_t k = 0; k < 8; ++k)
        codes.back() |= static_cast<std::uint32_t>(code(n, 8 * block + k)) << (4 * k);
    }
  }
  made.parts[".qweight"] = test_tensor(RawType::kI32, {kIn / 8, kOut}, codes);
  made.parts[".qzeros"] =
      words(kGroups, kOut, kInOrder, [](auto g, auto n) { return zero(n, g) - 1; });
  made.parts[".scales"] = scales(RawType::kF16);
  std::vector<std::int32_t> groups;
  for (std::int32_t k = 0; k < kIn; ++k) groups.push_back(group_of(k));
  made.parts[".g_idx"] = test_tensor(RawType::kI32, {kIn}, groups);
  return made;
}
std::int32_t in_order(std::int32_t k) {
  return k / kGroup;
}
std::int32_t by_turns(std::int32_t k) {
  return (k + 1) % kGroups;
}

std::vector<float> expected(const std::function<std::int32_t(std::int32_t)>& group_of,
                            std::int32_t zeros_less) {
  std::vector<float> values;
  for (std::int32_t n = 0; n < kOut; ++n) {
    for (std::int32_t k = 0; k < kIn; ++k) {
      const std::int32_t g = group_of(k);
      values.push_back(static_cast<float>(code(n, k) - zero(n, g) + zeros_less) * scale(n, g));
    }
  }
  return values;
}

TEST(LayoutAwq, WordsAreInterleavedAndZeroPointsStandAsTheyAre) {
  EXPECT_EQ(awq().values(kOut, kIn), expected(in_order, 1));
}

TEST(LayoutAwq, PartsThatDoNotFitAreNamed) {
  TestLayout file = awq();
  file.parts[".qweight"].shape = {kIn * 2, 1};
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.qweight: expected [24, 2], found [48, 1] in model.safetensors");
  file = awq();
  file.parts[".scales"] = scales(RawType::kBF16);
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.scales: expected dtype F16, found BF16 in model.safetensors");
  file = awq();
  file.parts[".scales"].bytes[1] = std::byte{0x7e};
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.scales: value 0 is NaN in model.safetensors, expected finite numbers");
  file = awq();
  file.config = R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 16}})";
  EXPECT_EQ(
      file.error(Code::kCorrupt, kOut, kIn),
      "a.q_proj: 24 input features in groups of 16 by config.json: quantization_config, which "
      "do not divide them");
  file.config = R"({"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 4}})";
  EXPECT_TRUE(contains(file.error(Code::kCorrupt, kOut, kIn), "a.q_proj.qzeros: expected [6, 2]"));
  file.config = kGptqConfig;
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: its tensors are of awq, but config.json: quantization_config says gptq");
  file.config = "{}";
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: its tensors are of awq, but config.json: quantization_config says none");
}

TEST(LayoutGptq, ZeroPointsAreStoredLessOneInTheFirstVersionAlone) {
  TestLayout file = gptq(in_order);
  EXPECT_EQ(file.values(kOut, kIn), expected(in_order, 0));
  file.config = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                    "checkpoint_format": "gptq_v2"}})";
  EXPECT_EQ(file.values(kOut, kIn), expected(in_order, 1));
}

TEST(LayoutGptq, GroupsMayBeOfAnyInputFeatures) {
  EXPECT_EQ(gptq(by_turns).values(kOut, kIn), expected(by_turns, 0));
}

TEST(LayoutGptq, WithoutAnOrderFeaturesAreInGroupsAsTheyCome) {
  TestLayout file = gptq(in_order);
  file.parts.erase(".g_idx");
  EXPECT_EQ(file.values(kOut, kIn), expected(in_order, 0));
  file.config = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                    "desc_act": true}})";
  EXPECT_TRUE(contains(file.error(Code::kNotFound, kOut, kIn), "a.q_proj.g_idx"));
}

TEST(LayoutGptq, GroupsOutOfRangeOrOfAnotherSizeAreNamed) {
  EXPECT_EQ(gptq([](auto k) { return k == 5 ? 3 : in_order(k); }).error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.g_idx: input feature 5 is in group 3 in model.safetensors, expected 0 to 2");
  EXPECT_EQ(gptq([](auto k) { return k == 5 ? -1 : in_order(k); }).error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.g_idx: input feature 5 is in group -1 in model.safetensors, expected 0 to 2");
  EXPECT_EQ(gptq([](auto k) { return k == 5 ? 2 : in_order(k); }).error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.g_idx: group 0 has 7 input features in model.safetensors, expected 8");
}

TEST(LayoutGptq, ASymmetricConfigContradictsOtherZeroPoints) {
  TestLayout file = gptq(in_order);
  file.config = R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8,
                    "sym": true}})";
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj.qzeros: zero point 1 of group 0, output 0 in model.safetensors, but "
            "config.json: quantization_config says sym, which is 8");
}

TEST(RecogniseLayout, MixedFormatsInOneLayerAreNamed) {
  TestLayout file = gptq(in_order);
  file.parts[".weight"] = test_tensor(RawType::kF32, {1, 1}, std::vector<float>{1});
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: mixed formats: its tensors are dense and also GPTQ");
  file.parts.erase(".weight");
  file.parts[".weight_packed"] = test_tensor(RawType::kI32, {1, 1}, std::vector<float>{1});
  EXPECT_EQ(file.error(Code::kCorrupt, kOut, kIn),
            "a.q_proj: mixed formats: its tensors are GPTQ and also compressed-tensors");
}

}  // namespace
}  // namespace verbatim
