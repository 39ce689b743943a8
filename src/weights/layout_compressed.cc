// compressed-tensors of whole numbers: int-quantized, a signed byte each, and pack-quantized, words
// of biased codes along a row. Reference: compressed_tensors/compressors/quantized_compressors.
#include <string>

#include "base/error.h"
#include "weights/grouped_parts.h"

namespace verbatim {
namespace {

bool is_packed(const Checkpoint& checkpoint, const std::string& name) {
  return checkpoint.find(name + ".weight_packed") != nullptr;
}

bool recognise(const Checkpoint& checkpoint, std::string_view prefix) {
  const std::string name(prefix);
  if (is_packed(checkpoint, name)) return true;
  const RawTensor* weight = checkpoint.find(name + ".weight");
  return weight != nullptr && weight->type == RawType::kI8 &&
         checkpoint.find(name + ".weight_scale") != nullptr;
}

// What is read along the way; one call reads one weight.
struct Reader {
  const Checkpoint& checkpoint;
  const std::string& name;
  const QuantScheme& scheme;
  WeightStorage& storage;

  const WeightFormat& format() const {
    if (scheme.bits == 4) return scheme.int8_rows ? kFormatW4A8 : kFormatInt4;
    return scheme.int8_rows ? kFormatW8A8 : kFormatInt8;
  }
  std::int64_t codes_per_word() const { return 32 / scheme.bits; }
  std::uint32_t packed(const RawTensor& words, std::int64_t first_word, std::int64_t index) const {
    const std::uint32_t word = word_at(words, first_word + index / codes_per_word());
    const auto shift = static_cast<int>(index % codes_per_word()) * scheme.bits;
    return (word >> shift) & ((1U << scheme.bits) - 1U);
  }
  std::int32_t bias() const { return scheme.bits == 4 ? 8 : 128; }

  void check_stated_shape(std::int32_t out, std::int32_t in) const {
    const RawTensor& shape = stored_part(checkpoint, name + ".weight_shape",
                                         {RawType::kI64, RawType::kI32}, {2}, storage);
    const std::vector<std::int64_t> stated = integers_of(shape);
    if (stated == std::vector<std::int64_t>{out, in}) return;
    fail(Code::kCorrupt, "%s: expected [%d, %d], found %s in %s", shape.name.c_str(), out, in,
         shape_text(stated).c_str(), shape.file.c_str());
  }

  void read_packed_codes(GroupedParts& parts, std::int64_t out, std::int64_t in) const {
    const std::int64_t words = (in + codes_per_word() - 1) / codes_per_word();
    const RawTensor& raw =
        stored_part(checkpoint, name + ".weight_packed", {RawType::kI32}, {out, words}, storage);
    parts.codes.fill([&](std::int64_t n, std::int64_t place) {
      return packed(raw, n * words, parts.feature(place));
    });
  }

  void read_bytes(GroupedParts& parts, std::int64_t out, std::int64_t in) const {
    const RawTensor& raw =
        stored_part(checkpoint, name + ".weight", {RawType::kI8}, {out, in}, storage);
    parts.codes.fill([&](std::int64_t n, std::int64_t place) {
      const auto code = static_cast<std::uint32_t>(
          raw.bytes[static_cast<std::size_t>(n * in + parts.feature(place))]);
      return code ^ 128U;  // biased, as packed ones are
    });
  }

  std::vector<std::int64_t> scale_shape(std::int64_t out, std::int64_t groups) const {
    if (scheme.strategy == ScaleStrategy::kTensor) return {1};
    return {out, groups};
  }

  void read_zeros(GroupedParts& parts, std::int64_t out, std::int64_t groups) const {
    const std::string zeros = name + ".weight_zero_point";
    const RawTensor* found = checkpoint.find(zeros);
    if (found == nullptr && scheme.symmetric) return;
    if (found != nullptr && scheme.symmetric) {
      fail(Code::kCorrupt, "%s in %s: a tensor of zero points, but %s says symmetric",
           zeros.c_str(), found->file.c_str(), scheme.where.c_str());
    }
    const bool is_tensor = scheme.strategy == ScaleStrategy::kTensor;
    const bool bytes = found == nullptr || found->type != RawType::kI32 || is_tensor;
    if (bytes) {
      const RawTensor& raw =
          stored_part(checkpoint, zeros, {RawType::kI8}, scale_shape(out, groups), storage);
      parts.zeros([&](std::int64_t n, std::int64_t g) {
        const std::int64_t at = is_tensor ? 0 : n * groups + g;
        return static_cast<std::int32_t>(
            static_cast<std::int8_t>(raw.bytes[static_cast<std::size_t>(at)]));
      });
      return;
    }
    // Packed along the outputs.
    const std::int64_t rows = (out + codes_per_word() - 1) / codes_per_word();
    const RawTensor& raw = stored_part(checkpoint, zeros, {RawType::kI32}, {rows, groups}, storage);
    parts.zeros([&](std::int64_t n, std::int64_t g) {
      const std::uint32_t word = word_at(raw, n / codes_per_word() * groups + g);
      const auto shift = static_cast<int>(n % codes_per_word()) * scheme.bits;
      const std::uint32_t code = (word >> shift) & ((1U << scheme.bits) - 1U);
      return static_cast<std::int32_t>(code) - bias();
    });
  }

  void read_scales(GroupedParts& parts, std::int64_t out, std::int64_t groups) const {
    const RawTensor& raw = stored_part(checkpoint, name + ".weight_scale",
                                       {RawType::kBF16, RawType::kF16, RawType::kF32},
                                       scale_shape(out, groups), storage);
    std::vector<float> scales = finite_values(raw);
    if (scheme.strategy == ScaleStrategy::kTensor)
      scales.resize(static_cast<std::size_t>(out), scales[0]);
    parts.scales_by_rows(scales);
    parts.weight.rounded_to = float_dtype(raw.type);
  }
};

void check_layout(const QuantScheme& scheme, const std::string& name, bool packed) {
  const char* found = packed ? "pack-quantized" : "int-quantized";
  if (scheme.layout != found) {
    fail(Code::kCorrupt, "%s: its tensors are %s, but %s says %s", name.c_str(), found,
         scheme.where.c_str(), scheme.layout.c_str());
  }
  if (!packed && scheme.bits != 8) {
    fail(Code::kUnsupported, "%s: int-quantized of %d bits by %s, expected 8", name.c_str(),
         scheme.bits, scheme.where.c_str());
  }
}

Weight read(const Checkpoint& checkpoint, std::string_view prefix, std::int32_t out,
            std::int32_t in, WeightStorage& storage) {
  const std::string name(prefix);
  const QuantizationConfig config =
      read_quantization_config(checkpoint.config(), checkpoint.config_file());
  const QuantScheme& scheme = config.scheme_of(prefix, QuantMethod::kCompressedTensors);
  const bool packed = is_packed(checkpoint, name);
  check_layout(scheme, name, packed);
  const Reader reader{checkpoint, name, scheme, storage};
  const std::int32_t group = group_of(scheme, name, in, true);
  const std::int64_t groups = in / group;
  GroupedParts parts(storage, reader.format(), out, in, group);
  if (scheme.act_order || checkpoint.find(name + ".weight_g_idx") != nullptr) {
    parts.order_by(stored_part(checkpoint, name + ".weight_g_idx", {RawType::kI32}, {in}, storage));
  }
  if (scheme.int8_rows) {
    const bool fits =
        parts.weight.planes[3].empty() && group <= 1 << 16 && (group % 16 == 0 || group == in);
    if (!fits) {
      fail(Code::kUnsupported,
           "%s: int8 activations by %s take groups of a multiple of 16 in the order of the input "
           "features, or whole rows",
           name.c_str(), scheme.where.c_str());
    }
  }
  if (packed) {
    reader.check_stated_shape(out, in);
    reader.read_packed_codes(parts, out, in);
  } else {
    reader.read_bytes(parts, out, in);
  }
  reader.read_scales(parts, out, groups);
  reader.read_zeros(parts, out, groups);
  return parts.weight;
}

}  // namespace

extern const WeightLayout kLayoutCompressed;
const WeightLayout kLayoutCompressed{
    .name = "compressed-tensors", .recognise = recognise, .read = read};

}  // namespace verbatim
