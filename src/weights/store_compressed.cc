// compressed-tensors: w8a8 as int-quantized, the others as pack-quantized; what
// layout_compressed.cc reads. Reference: compressed_tensors/compressors/pack_quantized/base.py.
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "tensor/half.h"
#include "weights/store.h"

namespace verbatim {
namespace {

constexpr std::int64_t kWordBytes = 4;

bool is_four_bits(const WeightFormat& format) {
  return &format == &kFormatInt4 || &format == &kFormatW4A8;
}

bool is_packed(const WeightFormat& format) {
  return &format != &kFormatW8A8;
}

// Stated for each group too: where it is not, readers choose by the scheme, of w4a8 another one.
const char* format_name(const WeightFormat& format) {
  return is_packed(format) ? "pack-quantized" : "int-quantized";
}

// Of codes along a row, in words.
std::int64_t row_words(const Weight& shape) {
  const std::int64_t per_word = is_four_bits(*shape.format) ? 8 : 4;
  return (shape.in_features + per_word - 1) / per_word;
}

std::int64_t groups_of(const Weight& shape) {
  return (shape.in_features + shape.group - 1) / shape.group;
}

bool writes(const Recipe& recipe) {
  // ExecuTorch's schemes keep float32 scales beside weights of any type, which no file does.
  return recipe.format != &kFormatNf4 && recipe.scales_as_source;
}

std::vector<PlannedTensor> plan(const StoredWeight& weight) {
  const Weight& shape = weight.shape;
  const std::int64_t out = shape.out_features, in = shape.in_features;
  const PlannedTensor scales{
      weight.name + ".weight_scale", raw_type_of(*weight.source), {out, groups_of(shape)}};
  if (!is_packed(*shape.format))
    return {{weight.name + ".weight", RawType::kI8, {out, in}}, scales};
  return {{weight.name + ".weight_packed", RawType::kI32, {out, row_words(shape)}},
          scales,
          {weight.name + ".weight_shape", RawType::kI64, {2}}};
}

// Words of biased codes, the first in the lowest bits; the last word of a row is filled with zero
// bits. Codes of four bits stand like that in the plane, but for the last word's bytes.
std::vector<std::byte> packed_codes(const Weight& made) {
  const std::span<const std::byte> codes = made.planes[0];
  const bool nibbles = is_four_bits(*made.format);
  const std::byte bias = nibbles ? std::byte{0} : std::byte{128};
  const auto from =
      static_cast<std::size_t>(nibbles ? (made.in_features + 1) / 2 : made.in_features);
  const auto to = static_cast<std::size_t>(row_words(made) * kWordBytes);
  std::vector<std::byte> bytes(to * static_cast<std::size_t>(made.out_features));
  for (std::size_t row = 0; row < static_cast<std::size_t>(made.out_features); ++row) {
    for (std::size_t i = 0; i < from; ++i) bytes[row * to + i] = codes[row * from + i] ^ bias;
  }
  return bytes;
}

std::vector<std::byte> scale_bytes(const StoredWeight& weight, const Weight& made) {
  const std::span<const std::byte> plane = made.planes[1];
  const RawType type = raw_type_of(*weight.source);
  if (type == RawType::kF32) return {plane.begin(), plane.end()};
  std::vector<std::byte> bytes(plane.size() / 2);
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
    float scale = 0;
    std::memcpy(&scale, plane.data() + i * sizeof scale, sizeof scale);
    const std::uint16_t bits = type == RawType::kF16 ? to_f16(scale) : to_bf16(scale);
    if ((type == RawType::kF16 ? from_f16(bits) : from_bf16(bits)) != scale) {
      fail(Code::kCorrupt, "%s.weight: the scale %g of its group %zu is no number of its type, %s",
           weight.name.c_str(), static_cast<double>(scale), i, raw_type_name(type));
    }
    std::memcpy(bytes.data() + 2 * i, &bits, sizeof bits);
  }
  return bytes;
}

std::vector<std::vector<std::byte>> store(const StoredWeight& weight, const Weight& made) {
  std::vector<std::vector<std::byte>> parts;
  if (!is_packed(*made.format)) {
    parts.emplace_back(made.planes[0].begin(), made.planes[0].end());
    parts.push_back(scale_bytes(weight, made));
    return parts;
  }
  parts.push_back(packed_codes(made));
  parts.push_back(scale_bytes(weight, made));
  const std::int64_t shape[] = {made.out_features, made.in_features};
  const auto bytes = std::as_bytes(std::span(shape));
  parts.emplace_back(bytes.begin(), bytes.end());
  return parts;
}

// Whole rows are called a channel.
std::int32_t stated_group(const Weight& shape) {
  return shape.group == shape.in_features ? 0 : shape.group;
}

std::vector<std::string> targets_of(std::span<const StoredWeight> weights, std::int32_t group) {
  std::vector<StoredWeight> others;
  std::map<std::string, std::vector<std::string>> names;  // by the pattern that means them
  for (const StoredWeight& weight : weights) {
    if (stated_group(weight.shape) != group) {
      others.push_back(weight);
    } else {
      names["re:(.*[.])?" + module_expression(weight.name) + "$"].push_back(weight.name);
    }
  }
  if (others.empty()) return {"Linear"};
  std::vector<std::string> targets;
  for (const auto& [pattern, meant] : names) {
    if (means_any(pattern, others)) {
      targets.insert(targets.end(), meant.begin(), meant.end());
    } else {
      targets.push_back(pattern);
    }
  }
  return targets;
}

std::string group_text(std::span<const StoredWeight> weights, std::int32_t group) {
  const WeightFormat& format = *weights.front().shape.format;
  const std::string strategy = group == 0
                                   ? R"("strategy": "channel")"
                                   : formatted(R"("strategy": "group", "group_size": %d)", group);
  const char* activations =
      format.activations == Activations::kInt8PerRow
          ? R"({"num_bits": 8, "type": "int", "symmetric": true, "strategy": "token", "dynamic": true})"
          : "null";
  return formatted(
      "{\n        \"targets\": %s,\n        \"weights\": {\"num_bits\": %d, \"type\": \"int\", "
      "\"symmetric\": true, %s, \"dynamic\": false},\n        \"input_activations\": %s,\n"
      "        \"output_activations\": null,\n        \"format\": \"%s\"\n      }",
      json_list(targets_of(weights, group)).c_str(), is_four_bits(format) ? 4 : 8, strategy.c_str(),
      activations, format_name(format));
}

std::string config(std::span<const StoredWeight> weights, std::span<const std::string> dense) {
  std::map<std::int32_t, std::string> groups;
  for (const StoredWeight& weight : weights) {
    const std::int32_t group = stated_group(weight.shape);
    if (groups.count(group) == 0) groups[group] = group_text(weights, group);
  }
  std::string listed;
  int number = 0;
  for (const auto& [group, text] : groups) {
    listed += formatted("%s\n      \"group_%d\": ", number == 0 ? "" : ",", number) + text;
    ++number;
  }
  std::vector<std::string> ignored;
  for (const DenseModule& module : dense_modules(weights, dense)) {
    const bool is_name = module.is_weight && module.expression == module.plain;
    const std::string pattern =
        is_name ? module.plain : "re:(.*[.])?" + module.expression + "([.].*)?$";
    if (!means_any(pattern, weights)) ignored.push_back(pattern);
  }
  return "{\n    \"quant_method\": \"compressed-tensors\",\n    \"format\": \"" +
         std::string(format_name(*weights.front().shape.format)) +
         "\",\n    \"quantization_status\": \"compressed\",\n    \"config_groups\": {" + listed +
         "\n    },\n    \"ignore\": " + json_list(ignored) +
         ",\n    \"kv_cache_scheme\": null\n  }";
}

}  // namespace

extern const LayoutWriter kWriterCompressed;
const LayoutWriter kWriterCompressed{
    .name = "compressed-tensors", .writes = writes, .plan = plan, .store = store, .config = config};

}  // namespace verbatim
