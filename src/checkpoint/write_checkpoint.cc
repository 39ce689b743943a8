// Shards, their index, and the order in which bytes arrive. Reference: huggingface_hub
// serialization/_base.py, split_state_dict_into_shards_factory.
#include "checkpoint/write_checkpoint.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace verbatim {
namespace {

// Loaders of transformers ask for it.
constexpr const char* kMetadata = R"({"format":"pt"})";

// "model.safetensors" as "model-00002-of-00004.safetensors".
std::string shard_name(const std::string& whole, std::size_t index, std::size_t count) {
  const std::size_t dot = whole.rfind('.');
  return formatted("%s-%05zu-of-%05zu%s", whole.substr(0, dot).c_str(), index + 1, count,
                   whole.substr(dot).c_str());
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

}  // namespace

CheckpointWriter::CheckpointWriter(const AtomicFolder& folder, const Container& container,
                                   std::span<const std::vector<PlannedTensor>> units,
                                   std::uint64_t shard_bytes)
    : folder_(folder) {
  cut(units, container.index == nullptr ? UINT64_MAX : shard_bytes);
  plan(container);
}

void CheckpointWriter::cut(std::span<const std::vector<PlannedTensor>> units,
                           std::uint64_t shard_bytes) {
  std::uint64_t filled = 0;
  for (const std::vector<PlannedTensor>& unit : units) {
    std::uint64_t bytes = 0;
    for (const PlannedTensor& tensor : unit) bytes += tensor.bytes();
    if (files_.empty() || (filled > 0 && bytes > shard_bytes - std::min(filled, shard_bytes))) {
      files_.emplace_back();
      filled = 0;
    }
    files_.back().tensors.insert(files_.back().tensors.end(), unit.begin(), unit.end());
    filled += bytes;
  }
}

void CheckpointWriter::plan(const Container& container) {
  std::uint64_t total = 0;
  std::string map;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    file.name =
        files_.size() == 1 ? container.weights : shard_name(container.weights, i, files_.size());
    file.plan = plan_safetensors(file.tensors, kMetadata);
    for (const PlannedTensor& tensor : file.tensors) {
      total += tensor.bytes();
      map += (map.empty() ? "\n    " : ",\n    ") + json_string(tensor.name) + ": " +
             json_string(file.name);
    }
  }
  if (files_.size() < 2) return;
  index_name_ = container.index;
  index_ = formatted("{\n  \"metadata\": {\n    \"total_size\": %llu\n  },\n  \"weight_map\": {",
                     static_cast<unsigned long long>(total)) +
           map + "\n  }\n}\n";
}

std::uint64_t CheckpointWriter::bytes() const {
  std::uint64_t sum = index_.size();
  for (const File& file : files_) sum += file.plan.bytes;
  return sum;
}

void CheckpointWriter::write(const std::string& name, std::span<const std::byte> bytes) {
  check(file_ < files_.size(), "only what was planned is written");
  const File& file = files_[file_];
  const PlannedTensor& tensor = file.tensors[tensor_];
  check(tensor.name == name && tensor.bytes() == bytes.size(), "tensors come as they were planned");
  if (!open_) {
    open_.emplace(folder_, file.name, file.plan.bytes);
    open_->write(0, bytes_of(file.plan.head));
  }
  open_->write(file.plan.offsets[tensor_], bytes);
  if (++tensor_ < file.tensors.size()) return;
  open_->close();
  open_.reset();
  ++file_;
  tensor_ = 0;
}

void CheckpointWriter::finish() {
  check(file_ == files_.size(), "everything that was planned is written");
  if (!index_.empty()) write_text(folder_, index_name_, index_);
}

void write_text(const AtomicFolder& folder, const std::string& file, const std::string& text) {
  SizedFile out(folder, file, text.size());
  out.write(0, bytes_of(text));
  out.close();
}

}  // namespace verbatim
