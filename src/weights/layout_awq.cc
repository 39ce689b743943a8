// AWQ, version GEMM: words hold eight outputs of one input feature, interleaved. Reference:
// awq/utils/packing_utils.py.
#include <array>
#include <string>

#include "base/error.h"
#include "weights/grouped_parts.h"

namespace verbatim {
namespace {

// Slot of a word's eight in which each of its outputs stands.
constexpr std::array<int, 8> kSlots{0, 4, 1, 5, 2, 6, 3, 7};

std::uint32_t code_at(const RawTensor& words, std::int64_t row, std::int64_t output,
                      std::int64_t outputs) {
  const std::uint32_t word = word_at(words, row * (outputs / 8) + output / 8);
  return (word >> (4 * kSlots[static_cast<std::size_t>(output % 8)])) & 15U;
}

bool recognise(const Checkpoint& checkpoint, std::string_view prefix) {
  return stored_by_columns(checkpoint, prefix) == QuantMethod::kAwq;
}

Weight read(const Checkpoint& checkpoint, std::string_view prefix, std::int32_t out,
            std::int32_t in, WeightStorage& storage) {
  const std::string name(prefix);
  const QuantizationConfig config =
      read_quantization_config(checkpoint.config(), checkpoint.config_file());
  const QuantScheme& scheme = config.scheme_of(prefix, QuantMethod::kAwq);
  const std::int32_t group = group_of(scheme, name, in, true);
  if (out % 8 != 0) {
    fail(Code::kUnsupported, "%s: AWQ of %d outputs, expected a multiple of 8", name.c_str(), out);
  }
  const std::int64_t groups = in / group;
  const RawTensor& codes =
      stored_part(checkpoint, name + ".qweight", {RawType::kI32}, {in, out / 8}, storage);
  const RawTensor& zeros =
      stored_part(checkpoint, name + ".qzeros", {RawType::kI32}, {groups, out / 8}, storage);
  const RawTensor& scales =
      stored_part(checkpoint, name + ".scales", {RawType::kF16}, {groups, out}, storage);

  GroupedParts parts(storage, kFormatInt4, out, in, group);
  parts.weight.rounded_to = DType::kF16;
  parts.codes.fill([&](std::int64_t n, std::int64_t k) { return code_at(codes, k, n, out); });
  parts.scales_by_columns(finite_values(scales));
  parts.zeros([&](std::int64_t n, std::int64_t g) {
    return static_cast<std::int32_t>(code_at(zeros, g, n, out)) - 8;
  });
  return parts.weight;
}

}  // namespace

extern const WeightLayout kLayoutAwq;
const WeightLayout kLayoutAwq{.name = "AWQ", .recognise = recognise, .read = read};

}  // namespace verbatim
