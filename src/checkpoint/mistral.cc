// The folder as Mistral publishes it: params.json and one consolidated.safetensors. A hub's folder
// may hold the files of transformers beside them, which are then not read.
#include <filesystem>
#include <system_error>

#include "checkpoint/safetensors.h"

namespace verbatim {
namespace {

constexpr const char* kConfig = "params.json";
constexpr const char* kWeights = "consolidated.safetensors";

std::string below(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

bool recognise(const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(below(folder, kConfig), error) &&
         std::filesystem::exists(below(folder, kWeights), error);
}

std::vector<ContainerFile> files(const std::string& folder) {
  return {{.path = below(folder, kWeights), .name = kWeights, .listed = {}}};
}

std::vector<RawTensor> parse(std::span<const std::byte> bytes, const std::string& file) {
  return kSafetensors.parse(bytes, file);
}

}  // namespace

extern const Container kMistral;
const Container kMistral{.name = "consolidated",
                         .config = kConfig,
                         .recognise = recognise,
                         .files = files,
                         .parse = parse};

}  // namespace verbatim
