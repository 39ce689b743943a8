// Views, owners and the bump allocator.
#include "tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace verbatim {

Tensor Tensor::slice(std::int64_t first_row, std::int64_t count) const {
  check(first_row >= 0 && count >= 0 && first_row + count <= rows,
        "a slice lies inside its tensor");
  Tensor part = *this;
  part.data = data + first_row * stride * dtype_bytes(dtype);
  part.rows = count;
  return part;
}

Tensor Tensor::joined(std::int64_t factor) const {
  check(stride == cols && rows % factor == 0, "packed rows are joined in whole groups");
  Tensor wide = *this;
  wide.rows = rows / factor;
  wide.cols = wide.stride = cols * factor;
  return wide;
}

namespace {

Tensor host_view(const void* values, std::int64_t rows, std::int64_t cols, DType dtype) {
  Tensor view;
  // A Tensor says nothing about who may write; ops write to their results alone.
  view.data = static_cast<std::byte*>(const_cast<void*>(values));
  view.rows = rows;
  view.cols = cols;
  view.stride = cols;
  view.dtype = dtype;
  return view;
}

}  // namespace

Tensor host_rows(std::span<const float> values, std::int64_t rows) {
  const std::int64_t cols = rows == 0 ? 0 : static_cast<std::int64_t>(values.size()) / rows;
  check(rows == 0 || cols * rows == static_cast<std::int64_t>(values.size()), "whole rows");
  return host_view(values.data(), rows, cols, DType::kF32);
}

Tensor host_rows(std::span<const std::int32_t> ids) {
  return host_view(ids.data(), static_cast<std::int64_t>(ids.size()), 1, DType::kI32);
}

Buffer::Buffer(Buffer&& other) noexcept {
  *this = std::move(other);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  std::swap(memory_, other.memory_);
  std::swap(release_, other.release_);
  std::swap(context_, other.context_);
  return *this;
}

Buffer::~Buffer() {
  if (release_ != nullptr) release_(bytes_, context_);
}

Buffer allocate_host(std::size_t bytes) {
  const std::size_t size = (std::max<std::size_t>(bytes, 1) + 63) / 64 * 64;
  if (size < std::size_t{1} << 20) {
    void* memory = std::aligned_alloc(64, size);
    if (memory == nullptr) fail(Code::kExhausted, "out of memory: %zu bytes asked for", bytes);
    std::memset(memory, 0, size);
    return {memory, size, Memory::kHost, [](void* p, void*) noexcept { std::free(p); }, nullptr};
  }
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(Code::kExhausted, "out of memory: %zu bytes asked for", bytes);
  return {memory, size, Memory::kHost,
          [](void* p, void* length) noexcept { munmap(p, reinterpret_cast<std::size_t>(length)); },
          // The length travels where a context would. NOLINTNEXTLINE(performance-no-int-to-ptr)
          reinterpret_cast<void*>(size)};
}

Buffer reserve_addresses(std::size_t bytes) {
  // No mapping: a terabyte of them is refused under a limit on address space and takes minutes
  // under an emulator. Bit 55 alone is an address that no process has, neither on x86-64 nor on
  // ARM.
  constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 55;
  return {reinterpret_cast<void*>(kNowhere), bytes, Memory::kHost, nullptr,  // NOLINT: see above
          nullptr};
}

Tensor Arena::take(std::int64_t rows, std::int64_t cols, DType dtype) {
  const std::size_t bytes =
      (static_cast<std::size_t>(rows * cols * dtype_bytes(dtype)) + 63) / 64 * 64;
  check(bytes <= storage_.size() - used_, "the arena holds what the dry run asked for");
  Tensor taken;
  taken.data = storage_.data() + used_;
  taken.rows = rows;
  taken.cols = cols;
  taken.stride = cols;
  taken.dtype = dtype;
  taken.memory = storage_.memory();
  used_ += bytes;
  high_water_ = std::max(high_water_, used_);
  return taken;
}

}  // namespace verbatim
