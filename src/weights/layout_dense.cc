// One tensor, `.weight`, of float elements.
#include <array>
#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "weights/layout.h"

namespace verbatim {
namespace {

struct Dense {
  RawType type;
  const WeightFormat* format;
};
constexpr std::array<Dense, 3> kDense{
    {{RawType::kF32, &kFormatF32}, {RawType::kF16, &kFormatF16}, {RawType::kBF16, &kFormatBF16}}};

const WeightFormat* format_of(const RawTensor* tensor) {
  for (const Dense& dense : kDense) {
    if (tensor != nullptr && tensor->type == dense.type) return dense.format;
  }
  return nullptr;
}

bool recognise(const Checkpoint& checkpoint, std::string_view prefix) {
  const std::string name = std::string(prefix) + ".weight";
  // bitsandbytes may keep its nibbles as elements of a float type.
  return format_of(checkpoint.find(name)) != nullptr &&
         checkpoint.find(name + ".absmax") == nullptr;
}

Weight read(const Checkpoint& checkpoint, std::string_view prefix, std::int32_t out,
            std::int32_t in, WeightStorage& storage) {
  const RawTensor& tensor = checkpoint.tensor(std::string(prefix) + ".weight");
  if (tensor.shape != std::vector<std::int64_t>{out, in}) {
    fail(Code::kCorrupt, "%s: expected [%d, %d], found %s in %s", tensor.name.c_str(), out, in,
         shape_text(tensor.shape).c_str(), tensor.file.c_str());
  }
  const WeightFormat* format = format_of(&tensor);
  if (format == nullptr) {
    fail(Code::kCorrupt, "%s: expected dtype F32, F16 or BF16, found %s in %s", tensor.name.c_str(),
         raw_type_name(tensor.type), tensor.file.c_str());
  }
  storage.tensors.push_back(&tensor);
  return dense_weight(*format, tensor.bytes, out, in);
}

}  // namespace

extern const WeightLayout kLayoutDense;
const WeightLayout kLayoutDense{.name = "dense", .recognise = recognise, .read = read};

}  // namespace verbatim
