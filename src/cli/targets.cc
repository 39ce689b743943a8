// Tells files apart by where they lead, not by how they are spelled.
#include "cli/targets.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// Device and number of a regular file, folder and name of one that is not there yet; empty for what
// is neither.
std::string identity(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) {
    if (!S_ISREG(about.st_mode)) return {};
    return formatted("%llu:%llu", static_cast<unsigned long long>(about.st_dev),
                     static_cast<unsigned long long>(about.st_ino));
  }
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return error ? path : whole.string();
}

constexpr const char* kRecording = "a recording that is to be read";

}  // namespace

Targets::Targets(std::span<const Input> inputs) {
  for (const Input& input : inputs) {
    if (input.path != "-") owners_.emplace(identity(input.path), kRecording);
  }
}

void Targets::add(const char* flag, const std::string& path) {
  const std::string told_by = identity(path);
  if (told_by.empty()) return;
  const auto [owner, is_new] =
      owners_.emplace(told_by, formatted("what %s writes to as well", flag));
  if (!is_new)
    fail(Code::kInvalidArgument, "%s: %s is %s", flag, path.c_str(), owner->second.c_str());
}

}  // namespace verbatim
