// The weight formats and the layouts of files this version reads, and the search for the one that a
// checkpoint holds.
#include <array>
#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "weights/layout.h"

namespace verbatim {

extern const WeightLayout kLayoutDense;

namespace {

// What stands beside or instead of a weight that was quantised, and who writes it.
struct Companion {
  const char* suffix;
  const char* writer;
};
constexpr std::array<Companion, 7> kCompanions{{
    {".weight.absmax", "bitsandbytes, 4 bit"},
    {".SCB", "bitsandbytes, 8 bit"},
    {".qweight", "GPTQ or AWQ"},
    {".weight_packed", "compressed-tensors, packed"},
    {".weight_scale_inv", "FP8 in blocks"},
    {".weight_scale", "compressed-tensors"},
    {".absmax", "bitsandbytes, 4 bit"},
}};

std::string format_names() {
  std::string names;
  for (const WeightFormat* format : weight_formats()) append_listed(names, format->name);
  return names;
}

}  // namespace

std::span<const WeightFormat* const> weight_formats() {
  static constexpr std::array<const WeightFormat*, 3> kFormats{&kFormatF32, &kFormatF16,
                                                               &kFormatBF16};
  return kFormats;
}

std::span<const WeightFormat* const> dense_formats() {
  return weight_formats().first(3);
}

std::span<const WeightLayout* const> weight_layouts() {
  static constexpr std::array<const WeightLayout*, 1> kLayouts{&kLayoutDense};
  return kLayouts;
}

const WeightLayout& recognise_layout(const Checkpoint& checkpoint, std::string_view prefix) {
  for (const WeightLayout* layout : weight_layouts()) {
    if (layout->recognise(checkpoint, prefix)) return *layout;
  }
  const std::string name(prefix);
  for (const Companion& companion : kCompanions) {
    const RawTensor* tensor = checkpoint.find(name + companion.suffix);
    if (tensor == nullptr) continue;
    fail(Code::kUnsupported,
         "%s: quantised: found %s in %s (%s), a weight format that this version does not read; it "
         "reads %s",
         name.c_str(), tensor->name.c_str(), tensor->file.c_str(), companion.writer,
         format_names().c_str());
  }
  const RawTensor& tensor = checkpoint.tensor(name + ".weight");
  fail(Code::kUnsupported, "%s: found dtype %s in %s, expected one of the weight formats %s",
       tensor.name.c_str(), raw_type_name(tensor.type), tensor.file.c_str(),
       format_names().c_str());
}

}  // namespace verbatim
