// bfloat16 and IEEE half, to and from float32, rounded to nearest even. The same bits everywhere;
// halves keep their denormals even where float32 arithmetic flushes its own.
#pragma once

#include <bit>
#include <cstdint>

namespace verbatim {

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    const int shift = std::countl_zero(mantissa) - 21;
    mantissa = (mantissa << shift) & 0x3ffu;
    exponent = static_cast<std::uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline std::uint16_t to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const int drop = exponent < -14 ? 13 + (-14 - exponent) : 13;
  const std::uint32_t kept = mantissa >> drop;
  const std::uint32_t rest = mantissa & ((1u << drop) - 1u);
  const std::uint32_t half = 1u << (drop - 1);
  const std::uint32_t up = (rest > half || (rest == half && (kept & 1u) != 0)) ? 1u : 0u;
  const std::uint32_t base =
      exponent < -14 ? 0u : (static_cast<std::uint32_t>(exponent + 14) << 10);
  return static_cast<std::uint16_t>(sign | (base + kept + up));
}

}  // namespace verbatim
