// Statistics in and out of a file.
#include "weights/calibration.h"

#include <cfloat>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/write_safetensors.h"

namespace verbatim {
namespace {

std::vector<float> ranges_of(const RawTensor& raw, const std::string& path) {
  const std::string where = path + ": " + raw.name;
  if (raw.type != RawType::kF32 || raw.shape.size() != 1) {
    fail(Code::kCorrupt, "%s: expected F32 [in_features], found %s %s", where.c_str(),
         raw_type_name(raw.type), shape_text(raw.shape).c_str());
  }
  std::vector<float> values(static_cast<std::size_t>(raw.shape[0]));
  std::memcpy(values.data(), raw.bytes.data(), raw.bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] <= FLT_MAX) continue;
    fail(Code::kCorrupt, "%s: expected finite numbers from 0, found %g for input feature %zu",
         where.c_str(), static_cast<double>(values[i]), i);
  }
  return values;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  fail(Code::kCorrupt, "%s: statistics of another model: %s", file.c_str(), what.c_str());
}

}  // namespace

std::span<const float> Calibration::range(std::string_view name, std::int32_t in_features) const {
  const auto found = ranges.find(name);
  if (found == ranges.end()) refuse(file, "it has none of " + std::string(name));
  if (found->second.size() != static_cast<std::size_t>(in_features)) {
    refuse(file, formatted("%s: expected %d input features, found %zu", found->first.c_str(),
                           in_features, found->second.size()));
  }
  return found->second;
}

void Calibration::check_weights(
    const std::map<std::string, std::int32_t, std::less<>>& weights) const {
  for (const auto& [name, in_features] : weights) range(name, in_features);
  for (const auto& [name, values] : ranges) {
    if (weights.count(name) == 0) refuse(file, "the checkpoint has no weight " + name);
  }
}

Calibration calibration_of(std::span<const SeenInput> seen) {
  Calibration made;
  for (const SeenInput& input : seen) {
    for (const std::string& name : input.names) made.ranges[name] = input.largest;
  }
  return made;
}

Calibration read_calibration(const std::string& path) {
  const MappedFile file(path);
  Calibration made;
  made.file = path;
  for (const RawTensor& raw : parse_safetensors(file.bytes(), path))
    made.ranges[raw.name] = ranges_of(raw, path);
  if (made.empty())
    fail(Code::kCorrupt, "%s: expected statistics of weights, found no tensor", path.c_str());
  return made;
}

void write_calibration(const std::string& path, std::span<const SeenInput> seen) {
  const Calibration all = calibration_of(seen);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, values] : all.ranges) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] <= FLT_MAX) continue;
      fail(Code::kCorrupt, "%s: input feature %zu was not finite", name.c_str(), i);
    }
    tensors.push_back({name,
                       RawType::kF32,
                       {static_cast<std::int64_t>(values.size())},
                       std::as_bytes(std::span(values))});
  }
  write_safetensors(path, tensors);
}

}  // namespace verbatim
