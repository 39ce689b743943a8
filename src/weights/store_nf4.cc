// bitsandbytes NF4, scales as they are: what layout_nf4.cc reads. Reference:
// bitsandbytes/functional.py, QuantState.as_dict.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "weights/store.h"

namespace verbatim {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kBookSize = 16;

const char* dtype_name(const WeightFormat& dense) {
  if (&dense == &kFormatF16) return "float16";
  return &dense == &kFormatBF16 ? "bfloat16" : "float32";
}

std::int64_t elements_of(const StoredWeight& weight) {
  return std::int64_t{weight.shape.out_features} * weight.shape.in_features;
}

std::string state_text(const StoredWeight& weight) {
  return formatted(R"({"quant_type": "nf4", "blocksize": %lld, "dtype": "%s", "shape": [%d, %d]})",
                   static_cast<long long>(kBlock), dtype_name(*weight.source),
                   weight.shape.out_features, weight.shape.in_features);
}

bool writes(const Recipe& recipe) {
  return recipe.format == &kFormatNf4;
}

std::vector<PlannedTensor> plan(const StoredWeight& weight) {
  const std::string name = weight.name + ".weight";
  const std::int64_t elements = elements_of(weight);
  return {{name, RawType::kU8, {(elements + 1) / 2, 1}},
          {name + ".absmax", RawType::kF32, {(elements + kBlock - 1) / kBlock}},
          {name + ".quant_map", RawType::kF32, {kBookSize}},
          {name + ".quant_state.bitsandbytes__nf4",
           RawType::kU8,
           {static_cast<std::int64_t>(state_text(weight).size())}}};
}

// The first of two elements in the high half; rows follow each other without a gap.
std::vector<std::byte> flat_nibbles(const Weight& made) {
  const std::int64_t in = made.in_features, row_bytes = (in + 1) / 2;
  const std::int64_t elements = std::int64_t{made.out_features} * in;
  std::vector<std::byte> bytes(static_cast<std::size_t>((elements + 1) / 2));
  const std::span<const std::byte> codes = made.planes[0];
  if (in % 2 == 0) {
    std::transform(codes.begin(), codes.end(), bytes.begin(),
                   [](std::byte both) { return (both << 4) | (both >> 4); });
    return bytes;
  }
  for (std::int64_t e = 0; e < elements; ++e) {
    const std::int64_t place = e % in;
    const std::byte both = codes[static_cast<std::size_t>(e / in * row_bytes + place / 2)];
    const std::byte code = (place % 2 == 0 ? both : both >> 4) & std::byte{15};
    bytes[static_cast<std::size_t>(e / 2)] |= e % 2 == 0 ? code << 4 : code;
  }
  return bytes;
}

// Groups are what no block straddles, and share the block's scale.
std::vector<std::byte> block_scales(const Weight& made) {
  const auto step = static_cast<std::size_t>(kBlock / made.group) * sizeof(float);
  const std::span<const std::byte> scales = made.planes[1];
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < scales.size(); at += step) {
    const std::span<const std::byte> first = scales.subspan(at, sizeof(float));
    bytes.insert(bytes.end(), first.begin(), first.end());
  }
  return bytes;
}

std::vector<std::vector<std::byte>> store(const StoredWeight& weight, const Weight& made) {
  const std::string text = state_text(weight);
  const auto state = std::as_bytes(std::span(text));
  return {flat_nibbles(made),
          block_scales(made),
          {made.planes[2].begin(), made.planes[2].end()},
          {state.begin(), state.end()}};
}

std::string config(std::span<const StoredWeight> weights, std::span<const std::string> dense) {
  std::vector<std::string> skipped;
  for (const DenseModule& module : dense_modules(weights, dense)) {
    // Readers differ: some look for the name, others for a pattern from the first letter on.
    if (!module.plain.empty() && !means_any(module.plain, weights)) skipped.push_back(module.plain);
    if (!module.is_weight) skipped.push_back("(.*[.])?" + module.expression);
  }
  return "{\n    \"quant_method\": \"bitsandbytes\",\n    \"load_in_4bit\": true,\n"
         "    \"load_in_8bit\": false,\n    \"bnb_4bit_quant_type\": \"nf4\",\n"
         "    \"bnb_4bit_use_double_quant\": false,\n    \"bnb_4bit_compute_dtype\": \"" +
         std::string(dtype_name(*weights.front().source)) +
         "\",\n    \"bnb_4bit_quant_storage\": \"uint8\",\n    \"llm_int8_skip_modules\": " +
         json_list(skipped) + "\n  }";
}

}  // namespace

extern const LayoutWriter kWriterNf4;
const LayoutWriter kWriterNf4{
    .name = "bitsandbytes nf4", .writes = writes, .plan = plan, .store = store, .config = config};

}  // namespace verbatim
