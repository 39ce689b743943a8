// The safetensors writer: header length, JSON header padded to eight bytes, the tensors' bytes.
#include "checkpoint/write_safetensors.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace verbatim {
namespace {

// Places in the argument, in the order of the file.
std::vector<std::size_t> file_order(std::span<const PlannedTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::int64_t a_bytes = raw_type_bytes(tensors[a].type);
    const std::int64_t b_bytes = raw_type_bytes(tensors[b].type);
    return a_bytes != b_bytes ? a_bytes > b_bytes : tensors[a].name < tensors[b].name;
  });
  return order;
}

void append_entry(std::string& header, const PlannedTensor& tensor, std::uint64_t offset) {
  if (header.size() > 1) header += ',';
  append_json_string(header, tensor.name);
  header += formatted(":{\"dtype\":\"%s\",\"shape\":[", raw_type_name(tensor.type));
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) header += ',';
    header += std::to_string(tensor.shape[i]);
  }
  header += formatted("],\"data_offsets\":[%llu,%llu]}", static_cast<unsigned long long>(offset),
                      static_cast<unsigned long long>(offset + tensor.bytes()));
}

void check_names(std::span<const PlannedTensor> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const PlannedTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  check(std::adjacent_find(names.begin(), names.end()) == names.end(),
        "written tensors have names of their own");
}

}  // namespace

std::uint64_t PlannedTensor::bytes() const {
  std::int64_t size = raw_type_bytes(type);
  for (const std::int64_t extent : shape) {
    check(extent >= 0, "a written tensor's extents are not negative");
    check(!__builtin_mul_overflow(size, extent, &size), "a written tensor's size fits");
  }
  return static_cast<std::uint64_t>(size);
}

SafetensorsPlan plan_safetensors(std::span<const PlannedTensor> tensors,
                                 const std::string& metadata) {
  check_names(tensors);
  SafetensorsPlan plan;
  plan.offsets.resize(tensors.size());
  std::string header = "{";
  if (!metadata.empty()) header += "\"__metadata__\":" + metadata;
  std::uint64_t offset = 0;
  for (const std::size_t at : file_order(tensors)) {
    append_entry(header, tensors[at], offset);
    plan.offsets[at] = offset;
    offset += tensors[at].bytes();
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  for (std::size_t i = 0; i < 8; ++i)
    plan.head += static_cast<char>((header.size() >> (8 * i)) & 0xffu);
  plan.head += header;
  for (std::uint64_t& each : plan.offsets) each += plan.head.size();
  plan.bytes = plan.head.size() + offset;
  return plan;
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<PlannedTensor> planned;
  for (const NamedTensor& tensor : tensors) {
    planned.push_back({tensor.name, tensor.type, tensor.shape});
    check(planned.back().bytes() == tensor.bytes.size(),
          "a written tensor has the bytes of its shape");
  }
  const SafetensorsPlan plan = plan_safetensors(planned);
  AtomicFile file(path);
  file.write(plan.head);
  for (const std::size_t at : file_order(planned)) {
    const std::span<const std::byte> bytes = tensors[at].bytes;
    file.write({static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()});
  }
  file.commit();
}

}  // namespace verbatim
