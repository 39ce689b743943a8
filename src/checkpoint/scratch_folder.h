// For tests: safetensors files made by hand, good and bad, and the folder they lie in.
#pragma once

#include <string>
#include <string_view>

#include "base/scratch_folder.h"

namespace verbatim {

// A safetensors file with this header text and these data bytes, right or not.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xffu);
  return bytes.append(header).append(data);
}

}  // namespace verbatim
