// Stored samples as floats: integers are divided by their full scale, which is exact up to 24 bits.
#include "audio/pcm.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"

namespace verbatim {
namespace {

struct FormatName {
  const char* name;
  SampleFormat format;
};
constexpr FormatName kFormatNames[] = {
    {"s16le", SampleFormat::kS16}, {"s24le", SampleFormat::kS24},  {"s32le", SampleFormat::kS32},
    {"f32le", SampleFormat::kF32}, {"f64le", SampleFormat::kF64},  {"u8", SampleFormat::kU8},
    {"alaw", SampleFormat::kALaw}, {"mulaw", SampleFormat::kMuLaw}};

template <typename T>
T load_little(const std::byte* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// ITU-T G.711, A-law: even bits are inverted, sign in bit 7 (1: positive), 3 bits of exponent, 4 of
// mantissa; in 16-bit units.
int expand_a_law(unsigned code) {
  code ^= 0x55U;
  const int mantissa = static_cast<int>((code & 0x0FU) << 4);
  const int exponent = static_cast<int>((code >> 4) & 7U);
  const int magnitude = exponent == 0 ? mantissa + 8 : (mantissa + 0x108) << (exponent - 1);
  return (code & 0x80U) != 0 ? magnitude : -magnitude;
}

// ITU-T G.711, mu-law: all bits are inverted, sign in bit 7 (1: negative); in 16-bit units.
int expand_mu_law(unsigned code) {
  code = ~code & 0xFFU;
  const int magnitude =
      (static_cast<int>(((code & 0x0FU) << 3) + 0x84U) << ((code >> 4) & 7U)) - 0x84;
  return (code & 0x80U) != 0 ? -magnitude : magnitude;
}

template <typename Value>
void decode_each(std::size_t stride, std::span<const std::byte> bytes, std::span<float> samples,
                 Value value) {
  const std::byte* at = bytes.data();
  for (float& sample : samples) {
    sample = value(at);
    at += stride;
  }
}

}  // namespace

SampleFormat sample_format(std::string_view name) {
  std::string names;
  for (const FormatName& entry : kFormatNames) {
    if (name == entry.name) return entry.format;
    append_listed(names, entry.name);
  }
  fail(Code::kInvalidArgument, "sample format '%.*s' is not known, expected one of %s",
       static_cast<int>(name.size()), name.data(), names.c_str());
}

std::size_t sample_bytes(SampleFormat format) {
  switch (format) {
    case SampleFormat::kU8:
    case SampleFormat::kALaw:
    case SampleFormat::kMuLaw:
      return 1;
    case SampleFormat::kS16:
      return 2;
    case SampleFormat::kS24:
      return 3;
    case SampleFormat::kS32:
    case SampleFormat::kF32:
      return 4;
    case SampleFormat::kF64:
      return 8;
  }
  return 1;
}

void decode_samples(SampleFormat format, std::span<const std::byte> bytes,
                    std::span<float> samples) {
  const std::size_t stride = sample_bytes(format);
  check(bytes.size() == samples.size() * stride, "there are bytes for every sample");
  switch (format) {
    case SampleFormat::kU8:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        return static_cast<float>(std::to_integer<int>(*at) - 128) * 0x1p-7F;
      });
    case SampleFormat::kS16:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        return static_cast<float>(load_little<std::int16_t>(at)) * 0x1p-15F;
      });
    case SampleFormat::kS24:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        const std::uint32_t high = (std::to_integer<std::uint32_t>(at[0]) << 8) |
                                   (std::to_integer<std::uint32_t>(at[1]) << 16) |
                                   (std::to_integer<std::uint32_t>(at[2]) << 24);
        return static_cast<float>(static_cast<std::int32_t>(high) >> 8) * 0x1p-23F;
      });
    case SampleFormat::kS32:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        return static_cast<float>(load_little<std::int32_t>(at)) * 0x1p-31F;
      });
    case SampleFormat::kF32:
      return decode_each(stride, bytes, samples, load_little<float>);
    case SampleFormat::kF64:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        return static_cast<float>(load_little<double>(at));
      });
    case SampleFormat::kALaw:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        return static_cast<float>(expand_a_law(std::to_integer<unsigned>(*at))) * 0x1p-15F;
      });
    case SampleFormat::kMuLaw:
      return decode_each(stride, bytes, samples, [](const std::byte* at) {
        return static_cast<float>(expand_mu_law(std::to_integer<unsigned>(*at))) * 0x1p-15F;
      });
  }
}

std::int64_t mix_channels(std::span<float> samples, std::int32_t channels, std::int32_t channel) {
  // No sound is louder; above it sums of samples could overflow.
  constexpr float kLoudest = 1e30F;
  std::int64_t bad = 0;
  const auto finite = [&](float sample) {
    if (std::abs(sample) < kLoudest) return sample;
    ++bad;
    return 0.0F;
  };
  const auto wide = static_cast<std::size_t>(channels);
  const double share = 1.0 / static_cast<double>(wide);
  for (std::size_t frame = 0; frame < samples.size() / wide; ++frame) {
    const std::span<const float> one = samples.subspan(frame * wide, wide);
    if (channel >= 0 || wide == 1) {
      samples[frame] = finite(one[channel > 0 ? static_cast<std::size_t>(channel) : 0]);
      continue;
    }
    double sum = 0;
    for (const float sample : one) sum += static_cast<double>(finite(sample));
    samples[frame] = static_cast<float>(sum * share);
  }
  return bad;
}

}  // namespace verbatim
