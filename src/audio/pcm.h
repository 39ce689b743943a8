// Stored samples as floats: integers are divided by their full scale, which is exact up to 24 bits.
#pragma once

#include <cstddef>
#include <span>

#include "audio/source.h"

namespace verbatim {

std::size_t sample_bytes(SampleFormat format);

// samples.size() values from samples.size() * sample_bytes(format) little-endian bytes. u8 is
// (v - 128) / 128, sN is v / 2^(N-1); s32 and f64 are rounded once.
void decode_samples(SampleFormat format, std::span<const std::byte> bytes,
                    std::span<float> samples);

}  // namespace verbatim
