// A view of rows, the bytes it may stand in, and a bump allocator over them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace verbatim {

enum class DType : std::uint8_t { kF32, kF16, kBF16, kI8, kI32 };
enum class Memory : std::uint8_t { kHost, kDevice };

constexpr std::int64_t dtype_bytes(DType dtype) {
  constexpr std::array<std::int64_t, 5> kBytes{4, 2, 2, 1, 4};
  return kBytes[static_cast<std::size_t>(dtype)];
}

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::kI32;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType kValue = DType::kI8;
};

// A view of rows: rows are time or tokens, columns are features. Copy it freely; it owns nothing.
struct Tensor {
  std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  // Elements from one row to the next; below cols only in the overlapping view a convolution reads.
  std::int64_t stride = 0;
  DType dtype = DType::kF32;
  Memory memory = Memory::kHost;

  bool empty() const { return data == nullptr; }
  Tensor slice(std::int64_t first_row, std::int64_t count) const;
  // Each `factor` rows as one, side by side; the rows lie packed and their number divides.
  Tensor joined(std::int64_t factor) const;
  template <typename T>
  std::span<T> row(std::int64_t index) const {  // checks dtype and Memory::kHost
    check(dtype == DTypeOf<std::remove_const_t<T>>::kValue, "the row is read as its own type");
    check(memory == Memory::kHost, "only rows in host memory are read directly");
    check(index >= 0 && index < rows, "the row exists");
    return {static_cast<T*>(static_cast<void*>(data)) + index * stride,
            static_cast<std::size_t>(cols)};
  }
  float* f32() const {  // the first element; kernels add strides themselves
    check(dtype == DType::kF32 && memory == Memory::kHost, "float rows in host memory");
    return static_cast<float*>(static_cast<void*>(data));
  }
};

// A view of floats that somebody else owns, as one tensor of `rows` rows: input that nothing
// writes.
Tensor host_rows(std::span<const float> values, std::int64_t rows);
// The same of ids, one a row.
Tensor host_rows(std::span<const std::int32_t> ids);

// Owns bytes, here or on a device, and knows how to give them back.
class Buffer {
 public:
  using Release = void (*)(void* bytes, void* context) noexcept;
  Buffer() = default;
  Buffer(void* bytes, std::size_t size, Memory memory, Release release, void* context)
      : bytes_(bytes), size_(size), memory_(memory), release_(release), context_(context) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();
  std::size_t size() const { return size_; }
  std::byte* data() const { return static_cast<std::byte*>(bytes_); }
  Memory memory() const { return memory_; }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
  Memory memory_ = Memory::kHost;
  Release release_ = nullptr;
  void* context_ = nullptr;
};

// Host memory on a 64-byte boundary, zeroed. Throws kExhausted.
Buffer allocate_host(std::size_t bytes);
// Addresses that nothing stands behind, the same for every caller: what a dry run takes its tensors
// from. Touching them ends the process.
Buffer reserve_addresses(std::size_t bytes);

// A bump allocator over one Buffer. ArenaScope gives back what was taken inside it.
class Arena {
 public:
  Arena() = default;
  explicit Arena(Buffer storage) : storage_(std::move(storage)) {}
  // 64-byte aligned rows' start; contents undefined. Too small an arena is a broken promise of the
  // dry run that sized it, and aborts.
  Tensor take(std::int64_t rows, std::int64_t cols, DType dtype);
  std::size_t used() const { return used_; }
  std::size_t high_water() const { return high_water_; }
  std::size_t size() const { return storage_.size(); }

 private:
  friend class ArenaScope;
  Buffer storage_;
  std::size_t used_ = 0;
  std::size_t high_water_ = 0;
};

class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.used_) {}
  ~ArenaScope() { arena_.used_ = mark_; }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  std::size_t mark_;
};

}  // namespace verbatim
