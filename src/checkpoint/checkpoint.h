// A checkpoint folder as named raw tensors and its JSON files. The mappings live as long as this.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

enum class RawType : std::uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

const char* raw_type_name(RawType type);  // as the file spells it: "BF16"
std::int64_t raw_type_bytes(RawType type);

struct Container;

struct RawTensor {
  std::string name;
  RawType type = RawType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // little endian, unaligned; size is that of shape and type
  std::string file;                  // "model-00002-of-00004.safetensors"
};

std::string shape_text(std::span<const std::int64_t> shape);  // "[3584, 512]"

class Checkpoint {
 public:
  // Maps the folder's tensors: `consolidated.safetensors` beside a params.json, else
  // `model.safetensors` or the shards its index names. Throws, naming folder, file and tensor: no
  // such folder (kNotFound), no config.json, a missing shard, a header that is truncated, oversized
  // or overlapping, a tensor that is in two files or in none.
  static Checkpoint open(const std::string& folder);
  // Of tensors whose bytes stand elsewhere and outlive it; `folder` has their config and the other
  // JSON files. What a benchmark makes, which needs shapes and no file of their size.
  static Checkpoint of(const std::string& folder, const std::string& config_file,
                       std::vector<RawTensor> tensors);
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;

  const std::string& folder() const;
  std::string name() const;                    // the last part of the folder's path
  std::span<const RawTensor> tensors() const;  // sorted by name
  const RawTensor* find(std::string_view name) const;
  const RawTensor& tensor(std::string_view name) const;  // throws kNotFound
  // The file that says what the tensors are, and its name: config.json, or params.json.
  const boost::json::value& config() const;
  const std::string& config_file() const;
  const Container& container() const;  // that it was read from
  // Another JSON file of the folder, read at the first call; null when there is none.
  const boost::json::value* json(std::string_view file) const;
  bool has_file(std::string_view file) const;
  std::string path(std::string_view file) const;
  // Gives the pages of this tensor back to the kernel: it has been copied.
  void release(const RawTensor& tensor) const;

 private:
  struct Contents;
  explicit Checkpoint(std::unique_ptr<Contents> contents);
  std::unique_ptr<Contents> contents_;
};

// A container of tensors: how to tell that a folder holds one and how to list what is in it.
struct ContainerFile {
  std::string path;
  std::string name;
  std::vector<std::string> listed;  // what an index says is in it, sorted; empty without an index
};
struct Container {
  const char* name;
  const char* config;  // the file that says what the tensors are: "config.json"
  bool (*recognise)(const std::string& folder);
  // The container's files in the folder, checked to be all there.
  std::vector<ContainerFile> (*files)(const std::string& folder);
  // The tensors of one mapped file; every size is checked against bytes.size().
  std::vector<RawTensor> (*parse)(std::span<const std::byte> bytes, const std::string& file);
  const char* weights;  // the file that holds all tensors: "model.safetensors"
  const char* index;    // the one that says in which of several files each is; null: never several
};
std::span<const Container* const> containers();  // checkpoint/registry.cc

}  // namespace verbatim
