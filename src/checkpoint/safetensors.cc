// safetensors files and their index. Every size and offset is checked against the bytes that are
// there before a tensor is handed out. Reference: safetensors 0.5, safetensors/src/tensor.rs,
// SafeTensors::read_metadata and Metadata::validate.
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "checkpoint/folder.h"

namespace verbatim {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::size_t kLengthBytes = 8;

struct Entry {
  RawTensor tensor;
  std::uint64_t begin = 0;  // bytes behind the header
  std::uint64_t end = 0;
};

std::string_view header_text(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    fail(Code::kCorrupt, "%s: truncated: %zu bytes cannot hold a safetensors header", file.c_str(),
         bytes.size());
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxSafetensorsHeaderBytes) {
    fail(Code::kCorrupt,
         "%s: no safetensors file: its header would be %llu bytes, the limit is %zu", file.c_str(),
         static_cast<unsigned long long>(length), kMaxSafetensorsHeaderBytes);
  }
  if (length > bytes.size() - kLengthBytes) {
    fail(Code::kCorrupt, "%s: truncated: its header takes %llu bytes and only %zu follow",
         file.c_str(), static_cast<unsigned long long>(length), bytes.size() - kLengthBytes);
  }
  const auto* first = static_cast<const char*>(static_cast<const void*>(bytes.data()));
  const std::string_view text(first + kLengthBytes, static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '{') {
    fail(Code::kCorrupt, "%s: no safetensors file: its header does not begin with '{'",
         file.c_str());
  }
  return text;
}

std::optional<RawType> raw_type(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(RawType::kBool); ++i) {
    const auto type = static_cast<RawType>(i);
    if (name == raw_type_name(type)) return type;
  }
  return std::nullopt;
}

// One tensor's entry of the header while it is read; carries what its messages name.
class EntryReader {
 public:
  EntryReader(const std::string& file, std::string_view name, const boost::json::value& value)
      : file_(file), name_(name), object_(value.if_object()) {
    if (object_ == nullptr) refuse("its header entry is no object");
  }

  Entry read(std::span<const std::byte> data) const {
    Entry entry;
    entry.tensor.name = std::string(name_);
    entry.tensor.file = file_;
    entry.tensor.type = type();
    std::uint64_t size = static_cast<std::uint64_t>(raw_type_bytes(entry.tensor.type));
    for (const boost::json::value& extent : list("shape")) {
      const std::uint64_t count = whole(extent, "shape");
      if (__builtin_mul_overflow(size, count, &size)) refuse("its shape is impossibly large");
      entry.tensor.shape.push_back(static_cast<std::int64_t>(count));
    }
    const boost::json::array& offsets = list("data_offsets");
    if (offsets.size() != 2) refuse("data_offsets must be two numbers");
    entry.begin = whole(offsets[0], "data_offsets");
    entry.end = whole(offsets[1], "data_offsets");
    check_range(entry, size, data.size());
    entry.tensor.bytes = data.subspan(entry.begin, size);
    return entry;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(Code::kCorrupt, "%s: tensor %s: %s", file_.c_str(), shown_name(name_).c_str(),
         what.c_str());
  }

  const boost::json::value& field(const char* name) const {
    const boost::json::value* value = object_->if_contains(name);
    if (value == nullptr) refuse(formatted("its header entry has no %s", name));
    return *value;
  }

  const boost::json::array& list(const char* name) const {
    const boost::json::array* array = field(name).if_array();
    if (array == nullptr) refuse(formatted("%s is no list", name));
    return *array;
  }

  std::uint64_t whole(const boost::json::value& value, const char* name) const {
    if (!value.is_int64() || value.get_int64() < 0) {
      refuse(formatted("%s holds something else than whole numbers from 0 to 2^63 - 1", name));
    }
    return static_cast<std::uint64_t>(value.get_int64());
  }

  RawType type() const {
    const boost::json::string* name = field("dtype").if_string();
    if (name == nullptr) refuse("dtype is no string");
    const std::optional<RawType> type = raw_type(std::string_view(name->data(), name->size()));
    if (!type) {
      fail(Code::kUnsupported, "%s: tensor %s: this version does not read its dtype \"%s\"",
           file_.c_str(), shown_name(name_).c_str(),
           shown_name(std::string_view(name->data(), name->size())).c_str());
    }
    return *type;
  }

  void check_range(const Entry& entry, std::uint64_t size, std::size_t data_size) const {
    const auto begin = static_cast<unsigned long long>(entry.begin);
    const auto end = static_cast<unsigned long long>(entry.end);
    if (entry.begin > entry.end) {
      refuse(formatted("its data ends at byte %llu, before it begins at %llu", end, begin));
    }
    if (entry.end > data_size) {
      refuse(
          formatted("its data ends at byte %llu and the file holds %zu bytes of data: it is "
                    "truncated or its header is wrong",
                    end, data_size));
    }
    if (entry.end - entry.begin != size) {
      refuse(formatted("%s %s takes %llu bytes, its header gives it %llu",
                       raw_type_name(entry.tensor.type), shape_text(entry.tensor.shape).c_str(),
                       static_cast<unsigned long long>(size), end - begin));
    }
  }

  const std::string& file_;
  std::string_view name_;
  const boost::json::object* object_;
};

void check_metadata(const boost::json::value& metadata, const std::string& file) {
  const boost::json::object* object = metadata.if_object();
  if (object == nullptr) fail(Code::kCorrupt, "%s: __metadata__ is no object", file.c_str());
  for (const auto& pair : *object) {
    if (!pair.value().is_string()) {
      fail(Code::kCorrupt, "%s: __metadata__: the value of \"%s\" is no string", file.c_str(),
           shown_name(std::string_view(pair.key().data(), pair.key().size())).c_str());
    }
  }
}

// The format wants every byte behind the header to belong to exactly one tensor.
void check_layout(std::vector<Entry>& entries, std::size_t data_size, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    if (a.end != b.end) return a.end < b.end;
    return a.tensor.name < b.tensor.name;
  });
  std::uint64_t next = 0;
  const Entry* before = nullptr;
  for (const Entry& entry : entries) {
    if (entry.begin < next) {
      fail(Code::kCorrupt, "%s: the tensors %s and %s overlap: bytes [%llu, %llu) and [%llu, %llu)",
           file.c_str(), shown_name(before->tensor.name).c_str(),
           shown_name(entry.tensor.name).c_str(), static_cast<unsigned long long>(before->begin),
           static_cast<unsigned long long>(before->end),
           static_cast<unsigned long long>(entry.begin),
           static_cast<unsigned long long>(entry.end));
    }
    if (entry.begin > next) {
      fail(Code::kCorrupt, "%s: the data bytes [%llu, %llu) before tensor %s belong to no tensor",
           file.c_str(), static_cast<unsigned long long>(next),
           static_cast<unsigned long long>(entry.begin), shown_name(entry.tensor.name).c_str());
    }
    next = entry.end;
    before = &entry;
  }
  if (next != data_size) {
    fail(Code::kCorrupt, "%s: the last %llu bytes belong to no tensor", file.c_str(),
         static_cast<unsigned long long>(data_size - next));
  }
}

}  // namespace

std::vector<RawTensor> parse_safetensors(std::span<const std::byte> bytes,
                                         const std::string& file) {
  const std::string_view text = header_text(bytes, file);
  const boost::json::value header = parse_json(text, file);
  refuse_duplicate_keys(text, file);
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + text.size());
  const boost::json::object* object = header.if_object();
  check(object != nullptr, "what begins with a brace and parses is an object");
  std::vector<Entry> entries;
  entries.reserve(object->size());
  for (const auto& pair : *object) {
    const std::string_view name(pair.key().data(), pair.key().size());
    if (name == "__metadata__") {
      check_metadata(pair.value(), file);
    } else {
      entries.push_back(EntryReader(file, name, pair.value()).read(data));
    }
  }
  check_layout(entries, data.size(), file);
  std::vector<RawTensor> tensors;
  tensors.reserve(entries.size());
  for (Entry& entry : entries) tensors.push_back(std::move(entry.tensor));
  return tensors;
}

namespace {

// Shards lie beside the index: a name with a folder in it could reach any file of the machine.
void check_shard_name(const std::string& index, const std::string& tensor, std::string_view name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos) {
    fail(Code::kCorrupt, "%s: tensor %s: \"%s\" is no plain file name", index.c_str(),
         shown_name(tensor).c_str(), shown_name(name).c_str());
  }
}

std::vector<ContainerFile> indexed_files(const std::string& folder) {
  const std::string index = joined(folder, kIndexFile);
  const std::string text = read_file(index, kMaxSafetensorsHeaderBytes);
  const boost::json::value root = parse_json(text, index);
  refuse_duplicate_keys(text, index);
  const boost::json::object* object = root.if_object();
  const boost::json::value* field = object ? object->if_contains("weight_map") : nullptr;
  const boost::json::object* weight_map = field ? field->if_object() : nullptr;
  if (weight_map == nullptr || weight_map->empty()) {
    fail(Code::kCorrupt, "%s: has no weight_map from tensors to files", index.c_str());
  }
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& pair : *weight_map) {
    const std::string tensor(pair.key().data(), pair.key().size());
    const boost::json::string* shard = pair.value().if_string();
    if (shard == nullptr) {
      fail(Code::kCorrupt, "%s: tensor %s: its file is no string", index.c_str(),
           shown_name(tensor).c_str());
    }
    check_shard_name(index, tensor, std::string_view(shard->data(), shard->size()));
    shards[std::string(shard->data(), shard->size())].push_back(tensor);
  }
  std::vector<ContainerFile> files;
  for (auto& [name, tensors] : shards) {
    std::sort(tensors.begin(), tensors.end());
    std::string path = joined(folder, name);
    if (!exists(path)) {
      fail(Code::kNotFound, "%s: no such file, and tensor %s needs it (%zu tensors in all)",
           path.c_str(), shown_name(tensors.front()).c_str(), tensors.size());
    }
    files.push_back({.path = std::move(path), .name = name, .listed = std::move(tensors)});
  }
  return files;
}

bool recognise(const std::string& folder) {
  return exists(joined(folder, kSingleFile)) || exists(joined(folder, kIndexFile));
}

// The whole file goes before an index, as in transformers.
std::vector<ContainerFile> files(const std::string& folder) {
  if (!exists(joined(folder, kSingleFile))) return indexed_files(folder);
  if (exists(joined(folder, kIndexFile))) {
    log(Level::kWarn, "%s: reading %s; the index %s beside it is not used", folder.c_str(),
        kSingleFile, kIndexFile);
  }
  return {{.path = joined(folder, kSingleFile), .name = kSingleFile, .listed = {}}};
}

}  // namespace

const Container kSafetensors{.name = "safetensors",
                             .config = "config.json",
                             .recognise = recognise,
                             .files = files,
                             .parse = parse_safetensors,
                             .weights = kSingleFile,
                             .index = kIndexFile};

}  // namespace verbatim
