// A weight format is a meaning given to bytes: data plus functions without state. decode_row and
// segment_end are its definition; every kernel of every device is tested against them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace verbatim {

class Checkpoint;
struct WeightFormat;

struct Weight {
  const WeightFormat* format = nullptr;
  std::int32_t out_features = 0;
  std::int32_t in_features = 0;
  // Which is which the format knows: codes, scales, zeros, order.
  std::array<std::span<const std::byte>, 4> planes;
};

struct WeightFormat {
  const char* name;  // as the log spells it: "bf16"
  // Input features are summed in one chain of fused multiply-adds from zero; the chain that starts
  // at `first` ends at the result, and the chains' sums are added in order.
  std::int32_t (*segment_end)(const Weight&, std::int32_t first);
  // Does the checkpoint hold this format under this prefix ("...q_proj")?
  bool (*recognise)(const Checkpoint&, std::string_view prefix);
  // The weight [out, in] under the prefix; its shape is checked by name against what is expected.
  Weight (*read)(const Checkpoint&, std::string_view prefix, std::int32_t out, std::int32_t in);
  // Row `row` as float32. out.size() == in_features.
  void (*decode_row)(const Weight&, std::int32_t row, std::span<float> out);
  std::size_t element_bytes;  // of a dense format
};

extern const WeightFormat kFormatF32;
extern const WeightFormat kFormatF16;
extern const WeightFormat kFormatBF16;

std::span<const WeightFormat* const> weight_formats();  // weights/registry.cc

// The format under the prefix; throws, naming what the checkpoint holds there, when none fits.
const WeightFormat& recognise_format(const Checkpoint& checkpoint, std::string_view prefix);

// A dense weight over bytes that the caller keeps: row-major [out, in].
Weight dense_weight(const WeightFormat& format, std::span<const std::byte> bytes, std::int32_t out,
                    std::int32_t in);

}  // namespace verbatim
