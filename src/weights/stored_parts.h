// What the layouts of quantised weights share: companion tensors checked by name, and planes that
// a reader fills.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "weights/layout.h"

namespace verbatim {

// The tensor, which has one of these types and this shape; throws kNotFound or kCorrupt, naming it.
// It joins what was read.
const RawTensor& stored_part(const Checkpoint& checkpoint, const std::string& name,
                             std::initializer_list<RawType> types,
                             const std::vector<std::int64_t>& shape, WeightStorage& storage);

std::uint32_t word_at(const RawTensor& tensor, std::int64_t index);  // of I32
std::vector<std::int64_t> integers_of(const RawTensor& tensor);      // I32 or I64
// F32, F16 or BF16, widened; throws kCorrupt for the first value that is no finite number.
std::vector<float> finite_values(const RawTensor& tensor);
DType float_dtype(RawType type);  // of F32, F16 and BF16

// body over [0, count) by all workers, or by the caller alone where there are none.
void in_parallel(ThreadPool* workers, std::int64_t count, RangeBody body);

// Zeroed elements that live as long as the storage does.
template <typename T>
std::span<T> take_plane(WeightStorage& storage, std::int64_t count) {
  storage.buffers.push_back(allocate_host(static_cast<std::size_t>(count) * sizeof(T)));
  void* data = storage.buffers.back().data();
  return {static_cast<T*>(data), static_cast<std::size_t>(count)};
}

}  // namespace verbatim
