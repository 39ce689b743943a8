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

// Interleaved frames become mono in place, at the front of `samples`: one channel (from 0), or the
// mean (-1): the sum in double in the order of the channels times 1/n, rounded once, exact for 16
// and 24 bits and a power of two of channels. Samples that are no sound, NaN, infinite or beyond
// 1e30, count as 0; returns how many of those there were.
std::int64_t mix_channels(std::span<float> samples, std::int32_t channels, std::int32_t channel);

}  // namespace verbatim
