// Views, owners and the bump allocator.
#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace verbatim {
namespace {

Arena arena_of(std::size_t bytes) {
  return Arena(allocate_host(bytes));
}

TEST(Tensor, ASliceIsRowsOfTheSameMemory) {
  Arena arena = arena_of(4096);
  const Tensor whole = arena.take(5, 3, DType::kF32);
  for (std::int64_t r = 0; r < 5; ++r) {
    for (std::int64_t c = 0; c < 3; ++c) {
      whole.row<float>(r)[static_cast<std::size_t>(c)] = static_cast<float>(10 * r + c);
    }
  }
  const Tensor part = whole.slice(1, 3);
  EXPECT_EQ(part.rows, 3);
  EXPECT_EQ(part.cols, 3);
  EXPECT_EQ(part.row<float>(0)[2], 12.0F);
  EXPECT_EQ(part.slice(2, 1).row<float>(0)[0], 30.0F);
  part.row<float>(1)[1] = -1.0F;
  EXPECT_EQ(whole.row<float>(2)[1], -1.0F);
  EXPECT_EQ(whole.slice(5, 0).rows, 0);
}

TEST(Tensor, ASliceStepsByTheStrideAndTheElement) {
  std::vector<float> memory(64);
  Tensor view = host_rows(memory, 8);
  view.cols = 3;
  EXPECT_EQ(view.slice(2, 1).f32(), memory.data() + 2 * 8);
  std::vector<std::byte> bytes(64);
  Tensor halves;
  halves.data = bytes.data();
  halves.rows = 4;
  halves.cols = 5;
  halves.stride = 7;
  halves.dtype = DType::kBF16;
  EXPECT_EQ(halves.slice(3, 1).data, bytes.data() + 3 * 7 * 2);
}

TEST(Tensor, RowsOfAViewMayOverlap) {
  const std::vector<float> memory{0, 1, 2, 3, 4, 5};
  Tensor frames = host_rows(memory, 1);
  frames.rows = 3;
  frames.cols = 2;
  frames.stride = 1;
  EXPECT_EQ(frames.row<float>(2)[0], 2.0F);
  EXPECT_EQ(frames.row<float>(2)[1], 3.0F);
}

TEST(Tensor, HostRowsAreWhole) {
  const std::vector<float> values(12);
  EXPECT_EQ(host_rows(values, 4).cols, 3);
  EXPECT_EQ(host_rows(values, 4).stride, 3);
  EXPECT_TRUE(host_rows({}, 0).empty());
}

TEST(TensorDeathTest, WhatLiesOutsideIsNotSliced) {
  const std::vector<float> values(12);
  const Tensor rows = host_rows(values, 4);
  EXPECT_DEATH(rows.slice(2, 3), "a slice lies inside its tensor");
  EXPECT_DEATH(rows.slice(-1, 1), "a slice lies inside its tensor");
  EXPECT_DEATH(rows.row<float>(4), "the row exists");
  EXPECT_DEATH(rows.row<std::int32_t>(0), "its own type");
  EXPECT_DEATH(host_rows(values, 5), "whole rows");
}

TEST(Buffer, IsReleasedOnceByItsLastOwner) {
  int released = 0;
  const auto release = [](void*, void* count) noexcept { ++*static_cast<int*>(count); };
  int thing = 0;
  {
    Buffer first(&thing, sizeof thing, Memory::kHost, release, &released);
    Buffer second(std::move(first));
    Buffer third;
    third = std::move(second);
    EXPECT_EQ(third.size(), sizeof thing);
    EXPECT_EQ(static_cast<void*>(third.data()), &thing);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(AllocateHost, MemoryIsZeroedAndAligned) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{3} << 20}) {
    const Buffer memory = allocate_host(bytes);
    ASSERT_GE(memory.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % 64, 0U);
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + memory.size(),
                            [](std::byte b) { return b == std::byte{0}; }));
    std::fill(memory.data(), memory.data() + memory.size(), std::byte{0xff});
  }
}

TEST(AllocateHost, WhatCannotBeHadIsAnError) {
  try {
    allocate_host(std::size_t{1} << 60);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
    EXPECT_NE(std::string(error.what()).find("1152921504606846976"), std::string::npos);
  }
}

TEST(ReserveAddresses, MoreThanAnyMachineHasIsThere) {
  const Buffer addresses = reserve_addresses(std::size_t{1} << 50);
  EXPECT_NE(addresses.data(), nullptr);
  EXPECT_EQ(addresses.size(), std::size_t{1} << 50);
}

TEST(ReserveAddressesDeathTest, TouchingThemEndsTheProcess) {
  Arena arena(reserve_addresses(1 << 20));
  const Tensor rows = arena.take(4, 4, DType::kF32);
  EXPECT_DEATH(*static_cast<volatile float*>(rows.f32()) = 1.0F, "");
}

TEST(Arena, TakesAlignedRowsOneBehindTheOther) {
  Arena arena = arena_of(4096);
  const Tensor a = arena.take(3, 5, DType::kF32);
  const Tensor b = arena.take(7, 1, DType::kI8);
  const Tensor c = arena.take(0, 9, DType::kF32);
  const Tensor d = arena.take(1, 1, DType::kI32);
  EXPECT_EQ(a.rows, 3);
  EXPECT_EQ(a.cols, 5);
  EXPECT_EQ(a.stride, 5);
  EXPECT_EQ(b.dtype, DType::kI8);
  EXPECT_EQ(b.data - a.data, 64);
  EXPECT_EQ(c.data - b.data, 64);
  EXPECT_EQ(d.data, c.data);  // no rows take no bytes
  EXPECT_EQ(arena.used(), 192U);
}

TEST(Arena, AScopeGivesBackWhatWasTakenInside) {
  Arena arena = arena_of(4096);
  arena.take(1, 16, DType::kF32);
  const std::byte* inside = nullptr;
  {
    const ArenaScope outer(arena);
    inside = arena.take(4, 16, DType::kF32).data;
    {
      const ArenaScope inner(arena);
      arena.take(10, 16, DType::kF32);
      EXPECT_EQ(arena.used(), 64U * 15);
    }
    EXPECT_EQ(arena.used(), 64U * 5);
  }
  EXPECT_EQ(arena.used(), 64U);
  EXPECT_EQ(arena.take(1, 1, DType::kF32).data, inside);
}

TEST(Arena, HighWaterIsTheMostThatWasEverTaken) {
  Arena arena = arena_of(4096);
  EXPECT_EQ(arena.high_water(), 0U);
  for (const std::int64_t rows : {3, 20, 5}) {
    const ArenaScope scope(arena);
    arena.take(rows, 16, DType::kF32);
  }
  EXPECT_EQ(arena.high_water(), 64U * 20);
  arena.take(21, 16, DType::kF32);
  EXPECT_EQ(arena.high_water(), 64U * 21);
}

TEST(ArenaDeathTest, TooSmallAnArenaIsABrokenPromise) {
  Arena arena = arena_of(128);
  arena.take(1, 32, DType::kF32);
  EXPECT_DEATH(arena.take(1, 1, DType::kI8), "the dry run asked for");
}

TEST(DType, EveryTypeHasItsSizeAndName) {
  EXPECT_EQ(dtype_bytes(DType::kF32), 4);
  EXPECT_EQ(dtype_bytes(DType::kF16), 2);
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2);
  EXPECT_EQ(dtype_bytes(DType::kI8), 1);
  EXPECT_EQ(dtype_bytes(DType::kI32), 4);
}

}  // namespace
}  // namespace verbatim
