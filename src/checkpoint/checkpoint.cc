// Opening a folder: which container it is, its mappings, one sorted list of tensors over all files.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace verbatim {

struct Checkpoint::Contents {
  std::string folder;
  std::string config_file;
  const Container* container = nullptr;
  std::vector<MappedFile> mappings;
  std::vector<RawTensor> tensors;
  // Files that were asked for and are there; null: asked for and absent.
  std::mutex json_mutex;
  std::map<std::string, std::unique_ptr<boost::json::value>, std::less<>> json;
};

namespace {

// Above any JSON file of a checkpoint; tokenizer.json, the largest, is near 20 MB.
constexpr std::size_t kMaxJsonBytes = 256u << 20;

bool by_name(const RawTensor& a, const RawTensor& b) {
  return a.name != b.name ? a.name < b.name : a.file < b.file;
}

bool before(const RawTensor& tensor, std::string_view name) {
  return tensor.name < name;
}

void check_folder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(folder, error);
  if (!std::filesystem::exists(status)) {
    fail(Code::kNotFound, "%s: no such folder", folder.c_str());
  }
  if (!std::filesystem::is_directory(status)) {
    fail(Code::kInvalidArgument,
         "%s: not a folder; a checkpoint is the folder with its config.json", folder.c_str());
  }
}

// Files of the folder that look like weights of a kind which no container reads.
std::string other_weights(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".safetensors" || extension == ".bin" || extension == ".pt" ||
        extension == ".pth" || extension == ".gguf" || extension == ".onnx") {
      names.push_back(entry.path().filename().string());
    }
  }
  if (names.empty()) return "";
  std::sort(names.begin(), names.end());
  return formatted("; %s and %zu other files of weights are not read under these names",
                   names.front().c_str(), names.size() - 1);
}

bool exists(const std::string& folder, const char* name) {
  std::error_code error;
  // What cannot be looked at is for whoever opens it to tell.
  return std::filesystem::exists(std::filesystem::path(folder) / name, error) || error;
}

const Container& container_of(const std::string& folder) {
  for (const Container* container : containers()) {
    if (!container->recognise(folder)) continue;
    if (exists(folder, container->config)) return *container;
    fail(Code::kNotFound, "%s: no %s in this folder; it is no checkpoint", folder.c_str(),
         container->config);
  }
  if (!exists(folder, "config.json") && !exists(folder, "params.json")) {
    fail(Code::kNotFound, "%s: no config.json in this folder; it is no checkpoint", folder.c_str());
  }
  fail(Code::kNotFound,
       "%s: no model.safetensors and no model.safetensors.index.json beside a config.json, no "
       "consolidated.safetensors beside a params.json%s",
       folder.c_str(), other_weights(folder).c_str());
}

// `found` is sorted. What an index says is in a file must be there.
void check_listed(const ContainerFile& file, std::span<const RawTensor> found) {
  for (const std::string& name : file.listed) {
    const auto at = std::lower_bound(found.begin(), found.end(), name, before);
    if (at == found.end() || at->name != name) {
      fail(Code::kCorrupt, "%s: tensor %s is missing; the index says that it is in this file",
           file.path.c_str(), name.c_str());
    }
  }
}

// `tensors` is sorted. No tensor may be there twice, or beside an index that does not know it.
void check_unique_and_known(const std::string& folder, std::span<const ContainerFile> files,
                            std::span<const RawTensor> tensors) {
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i - 1].name == tensors[i].name) {
      fail(Code::kCorrupt, "%s: tensor %s is in two files: %s and %s", folder.c_str(),
           tensors[i].name.c_str(), tensors[i - 1].file.c_str(), tensors[i].file.c_str());
    }
  }
  std::vector<std::string> listed;
  for (const ContainerFile& file : files) {
    listed.insert(listed.end(), file.listed.begin(), file.listed.end());
  }
  if (listed.empty()) return;
  std::sort(listed.begin(), listed.end());
  for (const RawTensor& tensor : tensors) {
    if (!std::binary_search(listed.begin(), listed.end(), tensor.name)) {
      fail(Code::kCorrupt, "%s: tensor %s in %s is not in the index", folder.c_str(),
           tensor.name.c_str(), tensor.file.c_str());
    }
  }
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& folder) {
  check_folder(folder);
  auto contents = std::make_unique<Contents>();
  contents->folder = folder;
  Checkpoint checkpoint(std::move(contents));
  Contents& into = *checkpoint.contents_;
  const Container& container = container_of(folder);
  into.config_file = container.config;
  into.container = &container;
  checkpoint.json(into.config_file);  // what is wrong with it is told before any file is mapped
  const std::vector<ContainerFile> files = container.files(folder);
  for (const ContainerFile& file : files) {
    const MappedFile& mapped = into.mappings.emplace_back(file.path);
    std::vector<RawTensor> found = container.parse(mapped.bytes(), file.path);
    std::sort(found.begin(), found.end(), by_name);
    check_listed(file, found);
    for (RawTensor& tensor : found) {
      tensor.file = file.name;
      into.tensors.push_back(std::move(tensor));
    }
  }
  std::sort(into.tensors.begin(), into.tensors.end(), by_name);
  check_unique_and_known(folder, files, into.tensors);
  return checkpoint;
}

Checkpoint Checkpoint::of(const std::string& folder, const std::string& config_file,
                          std::vector<RawTensor> tensors) {
  check_folder(folder);
  auto contents = std::make_unique<Contents>();
  contents->folder = folder;
  contents->config_file = config_file;
  std::sort(tensors.begin(), tensors.end(), by_name);
  check_unique_and_known(folder, {}, tensors);
  for (const RawTensor& tensor : tensors) {
    std::int64_t bytes = raw_type_bytes(tensor.type);
    for (const std::int64_t extent : tensor.shape) bytes *= extent;
    check(static_cast<std::int64_t>(tensor.bytes.size()) == bytes, "a tensor has all its bytes");
  }
  contents->tensors = std::move(tensors);
  Checkpoint checkpoint(std::move(contents));
  if (checkpoint.json(config_file) == nullptr) {
    fail(Code::kNotFound, "%s: no %s in this folder; it is no checkpoint", folder.c_str(),
         config_file.c_str());
  }
  return checkpoint;
}

Checkpoint::Checkpoint(std::unique_ptr<Contents> contents) : contents_(std::move(contents)) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

const std::string& Checkpoint::folder() const {
  return contents_->folder;
}
std::string Checkpoint::name() const {
  std::string path = contents_->folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}
std::span<const RawTensor> Checkpoint::tensors() const {
  return contents_->tensors;
}

const RawTensor* Checkpoint::find(std::string_view name) const {
  const std::vector<RawTensor>& all = contents_->tensors;
  const auto at = std::lower_bound(all.begin(), all.end(), name, before);
  return at != all.end() && at->name == name ? &*at : nullptr;
}

const RawTensor& Checkpoint::tensor(std::string_view name) const {
  const RawTensor* found = find(name);
  if (found == nullptr) {
    fail(Code::kNotFound, "%s: no such tensor in %s", std::string(name).c_str(), folder().c_str());
  }
  return *found;
}

const boost::json::value& Checkpoint::config() const {
  const boost::json::value* value = json(contents_->config_file);
  check(value != nullptr, "an open checkpoint has its config");
  return *value;
}

const std::string& Checkpoint::config_file() const {
  return contents_->config_file;
}

const Container& Checkpoint::container() const {
  check(contents_->container != nullptr, "the checkpoint was read from files");
  return *contents_->container;
}

const boost::json::value* Checkpoint::json(std::string_view file) const {
  const std::lock_guard<std::mutex> lock(contents_->json_mutex);
  const auto known = contents_->json.find(file);
  if (known != contents_->json.end()) return known->second.get();
  std::unique_ptr<boost::json::value> value;
  if (has_file(file)) {
    const std::string from = path(file);
    value = std::make_unique<boost::json::value>(parse_json(read_file(from, kMaxJsonBytes), from));
  }
  return contents_->json.emplace(file, std::move(value)).first->second.get();
}

bool Checkpoint::has_file(std::string_view file) const {
  return exists(contents_->folder, std::string(file).c_str());
}

std::string Checkpoint::path(std::string_view file) const {
  return (std::filesystem::path(contents_->folder) / file).string();
}

void Checkpoint::release(const RawTensor& tensor) const {
  for (const MappedFile& mapping : contents_->mappings) {
    const std::span<const std::byte> bytes = mapping.bytes();
    if (tensor.bytes.data() < bytes.data() || tensor.bytes.data() >= bytes.data() + bytes.size()) {
      continue;
    }
    mapping.release(tensor.bytes);
    return;
  }
}

}  // namespace verbatim
