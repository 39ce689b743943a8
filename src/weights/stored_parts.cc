// Companion tensors of quantised weights, each checked by name.
#include "weights/stored_parts.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/half.h"

namespace verbatim {

const RawTensor& stored_part(const Checkpoint& checkpoint, const std::string& name,
                             std::initializer_list<RawType> types,
                             const std::vector<std::int64_t>& shape, WeightStorage& storage) {
  const RawTensor& tensor = checkpoint.tensor(name);
  if (std::find(types.begin(), types.end(), tensor.type) == types.end()) {
    std::string expected;
    for (const RawType type : types) append_listed(expected, raw_type_name(type));
    fail(Code::kCorrupt, "%s: expected dtype %s, found %s in %s", name.c_str(), expected.c_str(),
         raw_type_name(tensor.type), tensor.file.c_str());
  }
  if (tensor.shape != shape) {
    fail(Code::kCorrupt, "%s: expected %s, found %s in %s", name.c_str(), shape_text(shape).c_str(),
         shape_text(tensor.shape).c_str(), tensor.file.c_str());
  }
  storage.tensors.push_back(&tensor);
  return tensor;
}

std::uint32_t word_at(const RawTensor& tensor, std::int64_t index) {
  std::uint32_t word = 0;
  std::memcpy(&word, tensor.bytes.data() + index * 4, sizeof word);
  return word;
}

std::vector<std::int64_t> integers_of(const RawTensor& tensor) {
  const auto size = static_cast<std::size_t>(raw_type_bytes(tensor.type));
  std::vector<std::int64_t> values(tensor.bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (tensor.type == RawType::kI64) {
      std::memcpy(&values[i], tensor.bytes.data() + i * size, size);
    } else {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, tensor.bytes.data() + i * size, sizeof narrow);
      values[i] = narrow;
    }
  }
  return values;
}

std::vector<float> finite_values(const RawTensor& tensor) {
  const auto size = static_cast<std::size_t>(raw_type_bytes(tensor.type));
  std::vector<float> values(tensor.bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* from = tensor.bytes.data() + i * size;
    if (tensor.type == RawType::kF32) {
      std::memcpy(&values[i], from, sizeof(float));
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from, sizeof bits);
      values[i] = tensor.type == RawType::kF16 ? from_f16(bits) : from_bf16(bits);
    }
    if (!std::isfinite(values[i])) {
      fail(Code::kCorrupt, "%s: value %zu is %s in %s, expected finite numbers",
           tensor.name.c_str(), i, std::isnan(values[i]) ? "NaN" : "infinite", tensor.file.c_str());
    }
  }
  return values;
}

void in_parallel(ThreadPool* workers, std::int64_t count, RangeBody body) {
  if (workers == nullptr) {
    body(0, count, 0);
  } else {
    workers->parallel_for(count, 1, body);
  }
}

DType float_dtype(RawType type) {
  return type == RawType::kF16 ? DType::kF16
                               : (type == RawType::kBF16 ? DType::kBF16 : DType::kF32);
}

}  // namespace verbatim
