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
    const std::string vibevoice = (folder / "vibevoice-asr-nano").string();
    const std::string voxtral = (folder / "voxtral-realtime-nano").string();
    const std::string tokenizer = (folder / "qwen2.5-tokenizer" / "tokenizer.json").string();
    if (found.nano_vibevoice.empty() && is_file(vibevoice + "/config.json"))
      found.nano_vibevoice = vibevoice;
    if (found.nano_voxtral.empty() && is_file(voxtral + "/params.json"))
      found.nano_voxtral = voxtral;
    if (found.tokenizer.empty() && is_file(tokenizer)) found.tokenizer = tokenizer;
  }
  return found;
}

std::string model_folder(const std::string& flag, const char* preset, const BundledFiles& bundled) {
  const std::string name = flag.empty() ? preset : flag;
  const bool is_vibevoice = name == kNanoVibeVoice;
  if (!is_vibevoice && name != kNanoVoxtral) return name;
  const std::string& folder = is_vibevoice ? bundled.nano_vibevoice : bundled.nano_voxtral;
  if (folder.empty())
    fail(Code::kNotFound,
         "--model: %s, and the bundled %s is neither in ../share/verbatim/models nor in "
         "../../models beside the executable",
         flag.empty() ? "none was given" : ("'" + flag + "' was given").c_str(),
         is_vibevoice ? "vibevoice-asr-nano" : "voxtral-realtime-nano");
  return folder;
}

std::string nano_notice(const std::string& folder) {
  return "no --model given: using the bundled " + folder +
         ", a tiny model for trials that knows 110 English words (numbers, months, the NATO "
         "alphabet, simple commands)";
}

}  // namespace verbatim
