// The safetensors container: 8 bytes of header length, a JSON header, then the tensors' bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace verbatim {

extern const Container kSafetensors;

// The tensors of one mapped file, as Container::parse wants them.
std::vector<RawTensor> parse_safetensors(std::span<const std::byte> bytes, const std::string& file);

// Headers above this are refused, as the format's own reader does.
constexpr std::size_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Throws kCorrupt when an object of `text`, which is valid JSON from `source`, has a key twice.
// Boost.JSON keeps the last of them without a word, which would hide a tensor.
void refuse_duplicate_keys(std::string_view text, std::string_view source);

}  // namespace verbatim
