// For tests: a folder that is gone at the end, and the sentence of an expected error.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace verbatim {

class ScratchFolder {
 public:
  ScratchFolder() : path_(testing::TempDir() + "verbatim-XXXXXX") {
    check(::mkdtemp(path_.data()) != nullptr, "the scratch folder can be made");
  }
  ~ScratchFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(std::string_view file) const { return path_ + "/" + std::string(file); }
  // Makes the folders in front of `file` too; returns its path.
  std::string write(std::string_view file, std::string_view bytes) const {
    const std::string to = path(file);
    std::filesystem::create_directories(std::filesystem::path(to).parent_path());
    std::ofstream out(to, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    check(out.good(), "the scratch file can be written");
    return to;
  }

 private:
  std::string path_;
};

// The error's sentence; fails the test when `action` throws none or one with another code.
template <typename Action>
std::string message_of(Code code, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace verbatim
