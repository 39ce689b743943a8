// Files of a folder, as the containers ask for them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace verbatim {

inline std::string joined(const std::string& folder, std::string_view file) {
  return (std::filesystem::path(folder) / file).string();
}

inline bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace verbatim
