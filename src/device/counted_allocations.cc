// Replaces operator new and delete of the program it is linked into.
#include "device/counted_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t>& counter() {
  static std::atomic<std::int64_t> count{0};
  return count;
}

void* without_throwing(std::size_t bytes, std::size_t alignment) noexcept {
  counter().fetch_add(1, std::memory_order_relaxed);
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, size == 0 ? alignment : size);
}

void* counted(std::size_t bytes, std::size_t alignment) {
  void* memory = without_throwing(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t kPlain = alignof(std::max_align_t);

}  // namespace

namespace verbatim {

std::int64_t counted_allocations() {
  return counter().load(std::memory_order_relaxed);
}

}  // namespace verbatim

void* operator new(std::size_t bytes) {
  return counted(bytes, kPlain);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes, kPlain);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
// The library's own nothrow forms call a sanitizer's operator new, not ours, and must not be mixed.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return without_throwing(bytes, kPlain);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return without_throwing(bytes, kPlain);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
