// What readers of integer codes share: a Weight whose planes are filled part by part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weights/quantization_config.h"
#include "weights/stored_parts.h"

namespace verbatim {

// Whose are the `.qweight`, `.qzeros` and `.scales` under the prefix: AWQ packs along the outputs,
// GPTQ along the input features. kNone: neither's.
QuantMethod stored_by_columns(const Checkpoint& checkpoint, std::string_view prefix);

// Input features that share a scale in a row of `in`; throws where groups do not divide it and
// must.
std::int32_t group_of(const QuantScheme& scheme, const std::string& name, std::int32_t in,
                      bool must_divide);

// Codes of four bits as they come, or of eight bits biased by 128.
class CodeRows {
 public:
  CodeRows(WeightStorage& storage, std::int32_t out, std::int32_t in, bool nibbles);
  void put(std::int64_t row, std::int64_t place, std::uint32_t code) {
    if (nibbles_) {
      const auto at = static_cast<std::size_t>(row * row_bytes_ + place / 2);
      bytes_[at] = static_cast<std::uint8_t>(bytes_[at] | (code << (place % 2 * 4)));
    } else {
      bytes_[static_cast<std::size_t>(row * row_bytes_ + place)] =
          static_cast<std::uint8_t>(code ^ 128U);  // a signed byte
    }
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(bytes_); }

 private:
  bool nibbles_;
  std::int64_t row_bytes_;
  std::span<std::uint8_t> bytes_;
};

class GroupedParts {
 public:
  GroupedParts(WeightStorage& storage, const WeightFormat& format, std::int32_t out,
               std::int32_t in, std::int32_t group);

  Weight weight;
  CodeRows codes;

  // Sorts the input features by the group each is in; throws where one is out of range or a group
  // has not its number of them. What is in order already gets none.
  void order_by(const RawTensor& group_of_feature);
  std::int64_t feature(std::int64_t place) const {
    return order_.empty() ? place : order_[static_cast<std::size_t>(place)];
  }
  void scales_by_rows(const std::vector<float>& values);     // [out, groups]
  void scales_by_columns(const std::vector<float>& values);  // [groups, out]
  // zero(output, group) on the scale of the signed codes. All of them zero: none are kept.
  template <typename Zero>
  void zeros(const Zero& zero) {
    std::vector<std::int8_t> made;
    bool any = false;
    for (std::int64_t n = 0; n < weight.out_features; ++n) {
      for (std::int64_t g = 0; g < groups_; ++g) {
        made.push_back(static_cast<std::int8_t>(zero(n, g)));
        any = any || made.back() != 0;
      }
    }
    if (any) keep_zeros(made);
  }

 private:
  void keep_zeros(const std::vector<std::int8_t>& values);

  WeightStorage& storage_;
  std::int64_t groups_;
  std::span<const std::int32_t> order_;
};

}  // namespace verbatim
