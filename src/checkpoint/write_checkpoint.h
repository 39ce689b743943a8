// Writes the tensors of a checkpoint folder one after another, in files of a bounded size: none of
// them is ever in memory whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_folder.h"
#include "checkpoint/write_safetensors.h"

namespace verbatim {

// As hubs cut them.
constexpr std::uint64_t kShardBytes = 5'000'000'000;

class CheckpointWriter {
 public:
  // Tensors of one unit go into the same file, and units are written in this order. `container`
  // says how files are called and whether there may be more than one.
  CheckpointWriter(const AtomicFolder& folder, const Container& container,
                   std::span<const std::vector<PlannedTensor>> units,
                   std::uint64_t shard_bytes = kShardBytes);

  std::uint64_t bytes() const;  // of all its files
  std::size_t files() const { return files_.size(); }
  // The next tensor, as the units name them.
  void write(const std::string& name, std::span<const std::byte> bytes);
  void finish();  // everything was written and is on the disk

 private:
  struct File {
    std::string name;
    std::vector<PlannedTensor> tensors;
    SafetensorsPlan plan;
  };
  void cut(std::span<const std::vector<PlannedTensor>> units, std::uint64_t shard_bytes);
  void plan(const Container& container);

  const AtomicFolder& folder_;
  std::string index_name_;
  std::string index_;
  std::vector<File> files_;
  std::size_t file_ = 0;    // that is being written
  std::size_t tensor_ = 0;  // of it, that comes next
  std::optional<SizedFile> open_;
};

// A small text as a file of the folder.
void write_text(const AtomicFolder& folder, const std::string& file, const std::string& text);

}  // namespace verbatim
