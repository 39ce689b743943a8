// How weights that meet int8 activations lie in memory once packed: panels of sixteen outputs, each
// one stream. For each group of input features: lines of 64 bytes with the codes as unsigned
// numbers, four neighbouring input features of an output beside each other, then a line with the
// sixteen scales, and where the weight has zeros a line with them as int32. Where rows have zeros
// instead, that line has the sums of the group's codes as signed numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weights/format.h"

namespace verbatim {

struct Int8Layout {
  std::int32_t in;
  std::int32_t group;
  std::int32_t line_inputs;  // input features a line of codes holds
  std::size_t tail_bytes;    // of a group: its scales and zeros

  [[gnu::always_inline]] std::int32_t groups() const { return (in + group - 1) / group; }
  [[gnu::always_inline]] std::size_t code_bytes(std::int32_t inputs) const {
    return static_cast<std::size_t>((inputs + line_inputs - 1) / line_inputs) * 64;
  }
  [[gnu::always_inline]] std::size_t group_bytes() const { return code_bytes(group) + tail_bytes; }
  [[gnu::always_inline]] std::size_t panel_bytes() const {
    const std::int32_t whole = groups() - 1;
    return static_cast<std::size_t>(whole) * group_bytes() + code_bytes(in - whole * group) +
           tail_bytes;
  }
};

std::size_t w8a8_packed_bytes(const Weight& weight);
std::size_t w4a8_packed_bytes(const Weight& weight);
// Pack panels [panel, panel + panels) of the weight into the whole's memory at `packed`, which is
// 64-byte aligned. Groups are multiples of sixteen input features, or hold a row.
void pack_w8a8(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
void pack_w4a8(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
// The same of 8da8w and 8da4w.
std::size_t asymmetric_8w_packed_bytes(const Weight& weight);
std::size_t asymmetric_4w_packed_bytes(const Weight& weight);
void pack_asymmetric_8w(const Weight& weight, std::int64_t panel, std::int64_t panels,
                        std::byte* packed);
void pack_asymmetric_4w(const Weight& weight, std::int64_t panel, std::int64_t panels,
                        std::byte* packed);

}  // namespace verbatim
