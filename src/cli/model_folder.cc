// Finds the bundled files relative to the executable, wherever the tree was moved to.
#include "cli/model_folder.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace verbatim {
namespace {

// From the executable's folder: an install tree, then a build tree (build/release).
constexpr const char* kModelFolders[] = {"../share/verbatim/models", "../../models"};

bool is_file(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

}  // namespace

std::string executable_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : self.parent_path().string();
}

BundledFiles bundled_files(const std::string& executable_folder) {
  BundledFiles found;
  if (executable_folder.empty()) return found;
  for (const char* const below : kModelFolders) {
    const std::filesystem::path folder =
        (std::filesystem::path(executable_folder) / below).lexically_normal();
    const std::string nano = (folder / "vibevoice-asr-nano").string();
    const std::string tokenizer = (folder / "qwen2.5-tokenizer" / "tokenizer.json").string();
    if (found.nano.empty() && is_file(nano + "/config.json")) found.nano = nano;
    if (found.tokenizer.empty() && is_file(tokenizer)) found.tokenizer = tokenizer;
  }
  return found;
}

std::string model_folder(const std::string& flag, const BundledFiles& bundled) {
  if (!flag.empty() && flag != "nano-vibevoice") return flag;
  if (bundled.nano.empty())
    fail(Code::kNotFound,
         "--model: none was given, and the bundled vibevoice-asr-nano is neither in "
         "../share/verbatim/"
         "models nor in ../../models beside the executable");
  return bundled.nano;
}

std::string nano_notice(const std::string& folder) {
  return "no --model given: using the bundled " + folder +
         ", a tiny model for trials that knows 110 English words (numbers, months, the NATO "
         "alphabet, simple commands)";
}

}  // namespace verbatim
