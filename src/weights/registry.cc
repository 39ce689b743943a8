// The weight formats and the layouts of files this version reads, and the search for the one that a
// checkpoint holds.
#include <array>
#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "weights/layout.h"

namespace verbatim {

extern const WeightLayout kLayoutAwq;
extern const WeightLayout kLayoutCompressed;
extern const WeightLayout kLayoutDense;
extern const WeightLayout kLayoutGptq;
extern const WeightLayout kLayoutNf4;

namespace {

// What stands beside or instead of a weight that was quantised, and who writes it.
struct Companion {
  const char* suffix;
  const char* writer;
};
constexpr std::array<Companion, 5> kCompanions{{
    {".SCB", "bitsandbytes, 8 bit"},
    {".qweight", "GPTQ or AWQ"},
    {".weight_scale_inv", "FP8 in blocks"},
    {".weight_scale", "compressed-tensors"},
    {".absmax", "bitsandbytes, 4 bit"},
}};

std::string names(std::span<const WeightFormat* const> formats) {
  std::string listed;
  for (const WeightFormat* format : formats) append_listed(listed, format->name);
  return listed;
}

std::string layout_names() {
  std::string listed;
  for (const WeightLayout* layout : weight_layouts()) append_listed(listed, layout->name);
  return listed;
}

}  // namespace

std::span<const WeightFormat* const> weight_formats() {
  static constexpr std::array<const WeightFormat*, 10> kFormats{
      &kFormatF32,  &kFormatF16,  &kFormatBF16, &kFormatNf4,   &kFormatInt4,
      &kFormatInt8, &kFormatW8A8, &kFormatW4A8, &kFormat8da8w, &kFormat8da4w};
  return kFormats;
}

std::span<const WeightFormat* const> dense_formats() {
  return weight_formats().first(3);
}

std::span<const WeightLayout* const> weight_layouts() {
  static constexpr std::array<const WeightLayout*, 5> kLayouts{
      &kLayoutDense, &kLayoutNf4, &kLayoutAwq, &kLayoutGptq, &kLayoutCompressed};
  return kLayouts;
}

const WeightLayout& recognise_layout(const Checkpoint& checkpoint, std::string_view prefix) {
  const std::string name(prefix);
  const WeightLayout* found = nullptr;
  for (const WeightLayout* layout : weight_layouts()) {
    if (!layout->recognise(checkpoint, prefix)) continue;
    if (found != nullptr) {
      fail(Code::kCorrupt, "%s: mixed formats: its tensors are %s and also %s", name.c_str(),
           found->name, layout->name);
    }
    found = layout;
  }
  if (found != nullptr) return *found;
  for (const Companion& companion : kCompanions) {
    const RawTensor* tensor = checkpoint.find(name + companion.suffix);
    if (tensor == nullptr) continue;
    fail(Code::kUnsupported,
         "%s: quantised: found %s in %s (%s), a way to store weights that this version does not "
         "read; it reads %s",
         name.c_str(), tensor->name.c_str(), tensor->file.c_str(), companion.writer,
         layout_names().c_str());
  }
  const RawTensor& tensor = checkpoint.tensor(name + ".weight");
  fail(Code::kUnsupported, "%s: found dtype %s in %s, expected one of the weight formats %s",
       tensor.name.c_str(), raw_type_name(tensor.type), tensor.file.c_str(),
       names(dense_formats()).c_str());
}

}  // namespace verbatim
