// What configs say, in the spelling of each method, and refusals that name the field.
#include "weights/quantization_config.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

QuantizationConfig read(const std::string& inside) {
  return read_quantization_config(
      parse_json("{\"quantization_config\": " + inside + "}", "config.json"), "config.json");
}
std::string error(Code code, const std::string& inside) {
  return message_of(code, [&] { read(inside); });
}

TEST(QuantizationConfig, NoneIsNone) {
  EXPECT_EQ(read_quantization_config(boost::json::object{}, "config.json").method,
            QuantMethod::kNone);
  EXPECT_EQ(read("null").method, QuantMethod::kNone);
}

TEST(QuantizationConfig, AnUnknownMethodListsTheKnownOnes) {
  EXPECT_EQ(
      error(Code::kUnsupported, R"({"quant_method": "fp8"})"),
      "config.json: quantization_config.quant_method: found 'fp8', a method that this version "
      "does not read; known are bitsandbytes, awq, gptq, compressed-tensors");
  EXPECT_TRUE(contains(error(Code::kCorrupt, "{}"), "quantization_config.quant_method"));
  EXPECT_TRUE(contains(error(Code::kCorrupt, "7"), "quantization_config"));
}

TEST(QuantizationConfig, GptqSaysHowItsZeroPointsAreKept) {
  const std::string front = R"({"quant_method": "gptq", "bits": 4, "group_size": 128)";
  EXPECT_TRUE(read(front + "}").schemes[0].zeros_are_minus_1);
  EXPECT_FALSE(read(front + R"(, "checkpoint_format": "gptq_v2"})").schemes[0].zeros_are_minus_1);
  EXPECT_EQ(
      error(Code::kUnsupported, front + R"(, "checkpoint_format": "marlin"})"),
      "config.json: quantization_config.checkpoint_format: found 'marlin', expected 'gptq' or "
      "'gptq_v2'");
  EXPECT_EQ(error(Code::kUnsupported, R"({"quant_method": "gptq", "bits": 8, "group_size": 128})"),
            "config.json: quantization_config.bits: found 8, expected 4");
  EXPECT_EQ(
      error(Code::kUnsupported, R"({"quant_method": "gptq", "bits": 4, "group_size": 0})"),
      "config.json: quantization_config.group_size: found 0, expected a group, or -1 for whole "
      "rows");
  EXPECT_EQ(read(R"({"quant_method": "gptq", "bits": 4, "group_size": -1})").schemes[0].strategy,
            ScaleStrategy::kChannel);
}

TEST(QuantizationConfig, AwqIsReadInItsGemmVersion) {
  const std::string front = R"({"quant_method": "awq", "bits": 4, "group_size": 128)";
  EXPECT_EQ(read(front + R"(, "version": "gemm"})").schemes[0].group_size, 128);
  EXPECT_TRUE(contains(error(Code::kUnsupported, front + R"(, "version": "gemv"})"),
                       "version: found 'gemv', expected 'gemm'"));
  EXPECT_TRUE(contains(error(Code::kUnsupported, front + R"(, "zero_point": false})"),
                       "zero_point: found false"));
}

TEST(QuantizationConfig, BitsandbytesIsReadInFourBits) {
  EXPECT_TRUE(contains(
      error(Code::kUnsupported, R"({"quant_method": "bitsandbytes", "load_in_8bit": true})"),
      "load_in_4bit"));
  EXPECT_TRUE(contains(error(Code::kUnsupported, R"({"quant_method": "bitsandbytes",
                             "load_in_4bit": true, "bnb_4bit_quant_type": "fp4"})"),
                       "bnb_4bit_quant_type: found 'fp4', expected 'nf4'"));
}

std::string compressed(const std::string& groups, const std::string& ignore = "[]") {
  return R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": )" +
         ignore + R"(, "config_groups": {)" + groups + "}}";
}
std::string group(const std::string& name, const std::string& targets,
                  const std::string& rest = "") {
  return "\"" + name + R"(": {"targets": )" + targets +
         R"(, "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32})" +
         rest + "}";
}

TEST(QuantizationConfig, EveryLayerIsOfOneGroup) {
  const QuantizationConfig config =
      read(compressed(group("g0", R"(["re:.*q_proj"])") + "," + group("g1", R"(["k_proj"])"),
                      R"(["lm_head", "re:.*\\.0\\..*"])"));
  const auto of = [&](const char* name) -> const QuantScheme& {
    return config.scheme_of(name, QuantMethod::kCompressedTensors);
  };
  EXPECT_EQ(of("a.1.q_proj").where, "config.json: quantization_config.config_groups.g0");
  EXPECT_EQ(of("a.1.k_proj").where, "config.json: quantization_config.config_groups.g1");
  EXPECT_EQ(
      message_of(Code::kCorrupt, [&] { of("a.1.v_proj"); }),
      "a.1.v_proj: it is quantised, but no group of config.json: quantization_config is about "
      "it");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { of("a.0.q_proj"); }),
            "a.0.q_proj: it is quantised, but config.json: quantization_config leaves out "
            "'re:.*\\.0\\..*'");
  const QuantizationConfig twice =
      read(compressed(group("g0", R"(["Linear"])") + "," + group("g1", R"(["k_proj"])")));
  EXPECT_TRUE(
      contains(message_of(Code::kUnsupported,
                          [&] { twice.scheme_of("k_proj", QuantMethod::kCompressedTensors); }),
               "k_proj: both "));
}

TEST(QuantizationConfig, SchemesOtherThanWholeNumbersAreNamed) {
  const auto refused = [&](const std::string& weights, const std::string& rest = "") {
    return error(Code::kUnsupported,
                 compressed(R"("g": {"targets": ["Linear"], "weights": )" + weights + rest + "}"));
  };
  const std::string fine = R"({"num_bits": 8, "type": "int", "strategy": "channel"})";
  EXPECT_TRUE(contains(refused(R"({"num_bits": 8, "type": "float"})"),
                       "config_groups.g.weights.type: found 'float', expected 'int'"));
  EXPECT_TRUE(contains(refused(R"({"num_bits": 2, "type": "int"})"),
                       "config_groups.g.weights.num_bits: found 2, expected 4 or 8"));
  EXPECT_TRUE(contains(refused(R"({"num_bits": 4, "type": "int", "strategy": "block"})"),
                       "weights.strategy: found 'block'"));
  EXPECT_TRUE(contains(refused(fine, R"(, "input_activations": {"num_bits": 4, "dynamic": true})"),
                       "input_activations.num_bits: found 4, expected 8"));
  EXPECT_TRUE(contains(refused(fine, R"(, "input_activations": {"num_bits": 8, "dynamic": false})"),
                       "input_activations.dynamic: found false, expected true"));
  EXPECT_TRUE(
      contains(refused(fine, R"(, "output_activations": {"num_bits": 8})"), "output_activations"));
  EXPECT_TRUE(contains(refused(fine, R"(, "format": "marlin-24")"), "format: found 'marlin-24'"));
}

TEST(QuantizationConfig, Int8RowsAreTold) {
  const std::string rows =
      R"(, "input_activations": {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": true})";
  EXPECT_TRUE(read(compressed(group("g", R"(["Linear"])", rows))).schemes[0].int8_rows);
  EXPECT_FALSE(read(compressed(group("g", R"(["Linear"])"))).schemes[0].int8_rows);
}

}  // namespace
}  // namespace verbatim
