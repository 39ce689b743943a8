// bitsandbytes NF4: `.weight` holds nibbles of the flattened weight, the first of two in the high
// half of a byte; a JSON text in a tensor says the rest. Reference: bitsandbytes/functional.py.
#include <array>
#include <boost/json.hpp>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "weights/grouped_parts.h"

namespace verbatim {
namespace {

constexpr std::int64_t kBookSize = 16;
constexpr std::int64_t kNestedBookSize = 256;

struct State {
  std::int32_t block = 64;  // elements that share a scale
  DType dtype = DType::kF32;
  bool nested = false;
  std::int64_t nested_block = 256;  // scales that share a scale
  float nested_offset = 0;
};

DType dtype_named(const std::string& name, const std::string& where) {
  if (name == "float32") return DType::kF32;
  if (name == "float16") return DType::kF16;
  if (name == "bfloat16") return DType::kBF16;
  fail(Code::kCorrupt, "%s: found '%s', expected float32, float16 or bfloat16", where.c_str(),
       name.c_str());
}

void check_shape(const JsonObject& state, std::int32_t out, std::int32_t in) {
  const boost::json::value* shape = state.find("shape");
  const boost::json::value expected{out, in};
  if (shape != nullptr && *shape == expected) return;
  fail(Code::kCorrupt, "%s: expected [%d, %d], found %s", state.name("shape").c_str(), out, in,
       shape == nullptr ? "nothing" : boost::json::serialize(*shape).substr(0, 60).c_str());
}

State read_state(const Checkpoint& checkpoint, const std::string& weight, std::int32_t out,
                 std::int32_t in, WeightStorage& storage) {
  const std::string name = weight + ".quant_state.bitsandbytes__nf4";
  const RawTensor* other = checkpoint.find(weight + ".quant_state.bitsandbytes__fp4");
  if (other != nullptr) {
    fail(Code::kUnsupported, "%s in %s: bitsandbytes fp4, of which this version reads nf4 alone",
         other->name.c_str(), other->file.c_str());
  }
  const auto length = static_cast<std::int64_t>(checkpoint.tensor(name).bytes.size());
  const RawTensor& raw = stored_part(checkpoint, name, {RawType::kU8}, {length}, storage);
  const void* data = raw.bytes.data();
  const boost::json::value text =
      parse_json({static_cast<const char*>(data), raw.bytes.size()}, name);
  const JsonObject json(text, name);
  if (json.string("quant_type") != "nf4") {
    fail(Code::kCorrupt, "%s: found '%s', expected 'nf4'", json.name("quant_type").c_str(),
         json.string("quant_type").c_str());
  }
  State state;
  state.block = static_cast<std::int32_t>(json.integer("blocksize", 1, 1 << 20));
  state.dtype = dtype_named(json.string("dtype"), json.name("dtype"));
  check_shape(json, out, in);
  state.nested = json.has("nested_blocksize");
  if (!state.nested) return state;
  state.nested_block = json.integer("nested_blocksize", 1, 1 << 20);
  if (json.string("nested_dtype") != "float32") {
    fail(Code::kUnsupported, "%s: found '%s', expected 'float32'",
         json.name("nested_dtype").c_str(), json.string("nested_dtype").c_str());
  }
  state.nested_offset = static_cast<float>(json.number("nested_offset"));
  return state;
}

// A scale for each block of the flattened weight.
std::vector<float> block_scales(const Checkpoint& checkpoint, const std::string& weight,
                                const State& state, std::int64_t elements, WeightStorage& storage) {
  const std::int64_t blocks = (elements + state.block - 1) / state.block;
  const std::string name = weight + ".absmax";
  if (!state.nested) {
    return finite_values(stored_part(checkpoint, name, {RawType::kF32}, {blocks}, storage));
  }
  const RawTensor& codes = stored_part(checkpoint, name, {RawType::kU8}, {blocks}, storage);
  const std::vector<float> scales =
      finite_values(stored_part(checkpoint, weight + ".nested_absmax", {RawType::kF32},
                                {(blocks + state.nested_block - 1) / state.nested_block}, storage));
  const std::vector<float> book = finite_values(stored_part(
      checkpoint, weight + ".nested_quant_map", {RawType::kF32}, {kNestedBookSize}, storage));
  std::vector<float> made(static_cast<std::size_t>(blocks));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const float scaled = book[static_cast<std::size_t>(codes.bytes[i])] *
                         scales[i / static_cast<std::size_t>(state.nested_block)];
    made[i] = scaled + state.nested_offset;
  }
  return made;
}

// The bytes of the nibbles, whatever dtype they are kept as.
const std::byte* nibbles(const Checkpoint& checkpoint, const std::string& weight,
                         std::int64_t elements, WeightStorage& storage) {
  const RawTensor& raw = checkpoint.tensor(weight);
  const std::int64_t bytes = (elements + 1) / 2;
  if (static_cast<std::int64_t>(raw.bytes.size()) != bytes) {
    fail(Code::kCorrupt, "%s: expected %lld bytes of nibbles, found %s of %s, %zu bytes, in %s",
         weight.c_str(), static_cast<long long>(bytes), shape_text(raw.shape).c_str(),
         raw_type_name(raw.type), raw.bytes.size(), raw.file.c_str());
  }
  storage.tensors.push_back(&raw);
  return raw.bytes.data();
}

bool recognise(const Checkpoint& checkpoint, std::string_view prefix) {
  return checkpoint.find(std::string(prefix) + ".weight.absmax") != nullptr;
}

Weight read(const Checkpoint& checkpoint, std::string_view prefix, std::int32_t out,
            std::int32_t in, WeightStorage& storage) {
  const std::string name = std::string(prefix) + ".weight";
  const QuantizationConfig config =
      read_quantization_config(checkpoint.config(), checkpoint.config_file());
  const State state = read_state(checkpoint, name, out, in, storage);
  // The state says all there is to know, so a config may be missing but may not contradict.
  if (config.method != QuantMethod::kNone) {
    config.scheme_of(prefix, QuantMethod::kBitsAndBytes);
    if (config.double_quant != state.nested) {
      fail(Code::kCorrupt, "%s.bnb_4bit_use_double_quant is %s, but %s.absmax is %s",
           config.where.c_str(), config.double_quant ? "true" : "false", name.c_str(),
           state.nested ? "quantised" : "not quantised");
    }
  }
  const std::int64_t elements = std::int64_t{out} * in;
  const std::byte* from = nibbles(checkpoint, name, elements, storage);
  const std::vector<float> scales = block_scales(checkpoint, name, state, elements, storage);
  const std::vector<float> book = finite_values(
      stored_part(checkpoint, name + ".quant_map", {RawType::kF32}, {kBookSize}, storage));

  Weight weight;
  weight.format = &kFormatNf4;
  weight.out_features = out;
  weight.in_features = in;
  weight.rounded_to = state.dtype;
  // Blocks run on from row to row: what a row's places share, whatever row, is a common divisor.
  weight.group = std::gcd(state.block, in);
  CodeRows codes(storage, out, in, true);
  codes.fill([&](std::int64_t n, std::int64_t place) {
    const std::int64_t e = n * in + place;
    const auto byte = static_cast<std::uint32_t>(from[e / 2]);
    return (e % 2 == 0 ? byte >> 4 : byte) & 15U;
  });
  const std::span<float> spread = take_plane<float>(storage, elements / weight.group);
  for (std::size_t i = 0; i < spread.size(); ++i) {
    spread[i] =
        scales[i * static_cast<std::size_t>(weight.group) / static_cast<std::size_t>(state.block)];
  }
  const std::span<float> kept_book = take_plane<float>(storage, kBookSize);
  std::copy(book.begin(), book.end(), kept_book.begin());
  weight.planes = {codes.bytes(), std::as_bytes(spread), std::as_bytes(kept_book), {}};
  return weight;
}

}  // namespace

extern const WeightLayout kLayoutNf4;
const WeightLayout kLayoutNf4{.name = "bitsandbytes nf4", .recognise = recognise, .read = read};

}  // namespace verbatim
