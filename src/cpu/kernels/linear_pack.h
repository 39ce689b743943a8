// Dense weights into panels of sixteen outputs. Compiled once, for the plain machine: the layouts
// are the same for every instruction set. linear_<format>.h says what they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weights/format.h"

namespace verbatim {

std::size_t f32_packed_bytes(const Weight& weight);
std::size_t half_packed_bytes(const Weight& weight);  // f16 and bf16

// Pack panels [panel, panel + panels) of the weight into the whole's memory at `packed`, which is
// 64-byte aligned; the weight's bytes need no alignment.
void pack_f32(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
void pack_f16(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
void pack_bf16(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);

}  // namespace verbatim
