// What config.json says of how a checkpoint was quantised: checked against the tensors, and the
// source of what the tensors do not say.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

enum class QuantMethod : std::uint8_t { kNone, kBitsAndBytes, kAwq, kGptq, kCompressedTensors };

const char* quant_method_name(QuantMethod method);  // as the config spells it; "none"

enum class ScaleStrategy : std::uint8_t { kGroup, kChannel, kTensor };

// How the linear layers that `targets` name are stored.
struct QuantScheme {
  std::string where;                 // "config.json: quantization_config.config_groups.group_0"
  std::vector<std::string> targets;  // empty: all
  std::string layout;                // of compressed-tensors: "pack-quantized", "int-quantized"
  std::int32_t bits = 4;
  ScaleStrategy strategy = ScaleStrategy::kGroup;
  std::int32_t group_size = 0;     // of kGroup
  bool symmetric = false;          // no zero points, or the middle of the codes as the only one
  bool act_order = false;          // a g_idx says which group an input feature is in
  bool zeros_are_minus_1 = false;  // GPTQ's first version stores zero points less one
  bool int8_rows = false;          // activations are rounded to int8 row by row
};

struct QuantizationConfig {
  QuantMethod method = QuantMethod::kNone;
  std::string where;                 // "config.json: quantization_config"
  std::vector<std::string> ignored;  // names and patterns of layers that are left as they are
  std::vector<QuantScheme> schemes;  // one, but for compressed-tensors
  bool double_quant = false;         // of bitsandbytes: the scales are quantised themselves

  // Throws kCorrupt when the tensors under `prefix`, which `found` stored, are not what the config
  // says of them; else the scheme that is theirs.
  const QuantScheme& scheme_of(std::string_view prefix, QuantMethod found) const;
};

// `config` is the whole of the file. Throws kUnsupported for a method that is not read, and
// kCorrupt.
QuantizationConfig read_quantization_config(const boost::json::value& config,
                                            const std::string& file);

}  // namespace verbatim
