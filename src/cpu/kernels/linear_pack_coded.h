// Weights of codes and scales into panels of sixteen outputs, as linear_coded_layout.h has them.
// Compiled once, for the plain machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weights/format.h"

namespace verbatim {

// Whether the kernels of codes take the weight: groups of sixteen input features or more, an even
// number of them, and rows whose rearranged inputs fit the scratch; a row of nf4 in whole groups.
bool can_pack_coded(const Weight& weight);
std::size_t nibble_packed_bytes(const Weight& weight);  // nf4 and int4
std::size_t int8_packed_bytes(const Weight& weight);

void pack_nf4(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
void pack_int4(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);
void pack_int8(const Weight& weight, std::int64_t panel, std::int64_t panels, std::byte* packed);

}  // namespace verbatim
