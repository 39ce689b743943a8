// The safetensors writer: header length, JSON header padded to eight bytes, the tensors' bytes.
#include "checkpoint/write_safetensors.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace verbatim {
namespace {

std::vector<const NamedTensor*> file_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  order.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const std::int64_t a_bytes = raw_type_bytes(a->type);
    const std::int64_t b_bytes = raw_type_bytes(b->type);
    return a_bytes != b_bytes ? a_bytes > b_bytes : a->name < b->name;
  });
  return order;
}

void check_tensor(const NamedTensor& tensor) {
  std::int64_t size = raw_type_bytes(tensor.type);
  for (const std::int64_t extent : tensor.shape) {
    check(extent >= 0, "a written tensor's extents are not negative");
    check(!__builtin_mul_overflow(size, extent, &size), "a written tensor's size fits");
  }
  check(static_cast<std::uint64_t>(size) == tensor.bytes.size(),
        "a written tensor has the bytes of its shape");
}

std::string header_of(std::span<const NamedTensor* const> order) {
  std::string header = "{";
  std::size_t offset = 0;
  for (const NamedTensor* tensor : order) {
    check_tensor(*tensor);
    if (offset > 0 || header.size() > 1) header += ',';
    append_json_string(header, tensor->name);
    header += formatted(":{\"dtype\":\"%s\",\"shape\":[", raw_type_name(tensor->type));
    for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
      if (i > 0) header += ',';
      header += std::to_string(tensor->shape[i]);
    }
    header += formatted("],\"data_offsets\":[%zu,%zu]}", offset, offset + tensor->bytes.size());
    offset += tensor->bytes.size();
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

void check_names(std::span<const NamedTensor> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  check(std::adjacent_find(names.begin(), names.end()) == names.end(),
        "written tensors have names of their own");
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  check_names(tensors);
  const std::vector<const NamedTensor*> order = file_order(tensors);
  const std::string header = header_of(order);
  std::array<char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>((header.size() >> (8 * i)) & 0xffu);
  }
  AtomicFile file(path);
  file.write({length.data(), length.size()});
  file.write(header);
  for (const NamedTensor* tensor : order) {
    file.write({static_cast<const char*>(static_cast<const void*>(tensor->bytes.data())),
                tensor->bytes.size()});
  }
  file.commit();
}

}  // namespace verbatim
