// What readers of integer codes share: a Weight whose planes are filled part by part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/thread_pool.h"
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
  // code(output, place) for all of them, by all workers; nothing where no codes are wanted.
  template <typename Code>
  void fill(const Code& code) {
    for_rows([&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t row = first; row < last; ++row) {
        std::uint8_t* to = bytes_.data() + row * row_bytes_;
        for (std::int64_t place = 0; place < in_; ++place) {
          const std::uint32_t value = code(row, place);
          if (nibbles_) {
            to[place / 2] = static_cast<std::uint8_t>(to[place / 2] | (value << (place % 2 * 4)));
          } else {
            to[place] = static_cast<std::uint8_t>(value ^ 128U);  // a signed byte
          }
        }
      }
    });
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(bytes_); }

 private:
  void for_rows(RangeBody body) const;

  const WeightStorage& storage_;
  bool nibbles_;
  std::int64_t out_;
  std::int64_t in_;
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
