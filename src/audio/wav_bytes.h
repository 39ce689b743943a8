// Builds WAV files in memory, right and wrong ones. For tests only.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

inline std::string little_bytes(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::string chunk_bytes(std::string_view id, std::string_view body) {
  std::string bytes(id);
  bytes += little_bytes(body.size(), 4);
  bytes += body;
  if (body.size() % 2 != 0) bytes += '\0';
  return bytes;
}

struct WavShape {
  std::uint64_t tag = 1;
  std::uint64_t channels = 1;
  std::uint64_t rate = 16000;
  std::uint64_t bits = 16;
  std::int64_t block_align = -1;  // -1: the right one
};

inline std::string format_bytes(const WavShape& shape) {
  const std::uint64_t block = shape.block_align >= 0 ? static_cast<std::uint64_t>(shape.block_align)
                                                     : shape.channels * ((shape.bits + 7) / 8);
  return little_bytes(shape.tag, 2) + little_bytes(shape.channels, 2) +
         little_bytes(shape.rate, 4) + little_bytes(shape.rate * block, 4) +
         little_bytes(block, 2) + little_bytes(shape.bits, 2);
}

inline std::string riff_bytes(std::string_view chunks) {
  return "RIFF" + little_bytes(chunks.size() + 4, 4) + "WAVE" + std::string(chunks);
}

inline std::string wav_bytes(const WavShape& shape, std::string_view data) {
  return riff_bytes(chunk_bytes("fmt ", format_bytes(shape)) + chunk_bytes("data", data));
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace verbatim
