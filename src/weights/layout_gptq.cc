// GPTQ: words hold eight input features of one output; zero points are stored less one in the
// first version. Reference: auto_gptq/nn_modules/qlinear/qlinear_cuda.py.
#include <string>

#include "base/error.h"
#include "weights/grouped_parts.h"

namespace verbatim {
namespace {

bool recognise(const Checkpoint& checkpoint, std::string_view prefix) {
  return stored_by_columns(checkpoint, prefix) == QuantMethod::kGptq;
}

Weight read(const Checkpoint& checkpoint, std::string_view prefix, std::int32_t out,
            std::int32_t in, WeightStorage& storage) {
  const std::string name(prefix);
  const QuantizationConfig config =
      read_quantization_config(checkpoint.config(), checkpoint.config_file());
  const QuantScheme& scheme = config.scheme_of(prefix, QuantMethod::kGptq);
  const std::int32_t group = group_of(scheme, name, in, false);
  if (in % 8 != 0 || out % 8 != 0) {
    fail(Code::kUnsupported, "%s: GPTQ of [%d, %d], expected multiples of 8", name.c_str(), out,
         in);
  }
  const std::int64_t groups = (std::int64_t{in} + group - 1) / group;
  const RawTensor& codes =
      stored_part(checkpoint, name + ".qweight", {RawType::kI32}, {in / 8, out}, storage);
  const RawTensor& zeros =
      stored_part(checkpoint, name + ".qzeros", {RawType::kI32}, {groups, out / 8}, storage);
  const RawTensor& scales =
      stored_part(checkpoint, name + ".scales", {RawType::kF16, RawType::kBF16, RawType::kF32},
                  {groups, out}, storage);

  GroupedParts parts(storage, kFormatInt4, out, in, group);
  parts.weight.rounded_to = float_dtype(scales.type);
  if (scheme.act_order || checkpoint.find(name + ".g_idx") != nullptr) {
    parts.order_by(stored_part(checkpoint, name + ".g_idx", {RawType::kI32}, {in}, storage));
  }
  parts.codes.fill([&](std::int64_t n, std::int64_t place) {
    const std::int64_t k = parts.feature(place);
    return (word_at(codes, k / 8 * out + n) >> (4 * (k % 8))) & 15U;
  });
  parts.scales_by_columns(finite_values(scales));
  const std::int32_t middle = scheme.zeros_are_minus_1 ? 7 : 8;  // what stands for code 8
  parts.zeros([&](std::int64_t n, std::int64_t g) {
    const std::uint32_t word = word_at(zeros, g * (out / 8) + n / 8);
    const std::int32_t zero = static_cast<std::int32_t>((word >> (4 * (n % 8))) & 15U) - middle;
    if (scheme.symmetric && zero != 0) {
      fail(Code::kCorrupt,
           "%s: zero point %d of group %lld, output %lld in %s, but %s says sym, which is 8",
           zeros.name.c_str(), zero + 8, static_cast<long long>(g), static_cast<long long>(n),
           zeros.file.c_str(), scheme.where.c_str());
    }
    return zero;
  });
  return parts.weight;
}

}  // namespace

extern const WeightLayout kLayoutGptq;
const WeightLayout kLayoutGptq{.name = "GPTQ", .recognise = recognise, .read = read};

}  // namespace verbatim
