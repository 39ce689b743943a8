// The folder as Mistral publishes it: params.json and one consolidated.safetensors. A hub's folder
// may hold the files of transformers beside them, which are then not read.
#include "checkpoint/folder.h"
#include "checkpoint/safetensors.h"

namespace verbatim {
namespace {

constexpr const char* kConfig = "params.json";
constexpr const char* kWeights = "consolidated.safetensors";

bool recognise(const std::string& folder) {
  return exists(joined(folder, kConfig)) && exists(joined(folder, kWeights));
}

std::vector<ContainerFile> files(const std::string& folder) {
  return {{.path = joined(folder, kWeights), .name = kWeights, .listed = {}}};
}

}  // namespace

extern const Container kMistral;
const Container kMistral{.name = "consolidated",
                         .config = kConfig,
                         .recognise = recognise,
                         .files = files,
                         .parse = parse_safetensors,
                         .weights = kWeights,
                         .index = nullptr};

}  // namespace verbatim
