// The writer: what it writes reads back, and equal tensors give equal bytes.
#include "checkpoint/write_safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/scratch_folder.h"
#include "checkpoint/safetensors.h"

namespace verbatim {
namespace {

class Written {
 public:
  Written() {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i);
  }
  std::vector<NamedTensor> tensors() const {
    const std::span<const std::byte> all(bytes_);
    return {
        {.name = "a.odd", .type = RawType::kU8, .shape = {3}, .bytes = all.subspan(0, 3)},
        {.name = "token", .type = RawType::kI64, .shape = {2}, .bytes = all.subspan(3, 16)},
        {.name = "say \"\\u\"",
         .type = RawType::kBF16,
         .shape = {1, 3},
         .bytes = all.subspan(9, 6)},
        {.name = "dec.0.out", .type = RawType::kF32, .shape = {3, 2}, .bytes = all.subspan(20, 24)},
        {.name = "empty", .type = RawType::kF32, .shape = {0, 2}, .bytes = {}},
        {.name = "scalar", .type = RawType::kF16, .shape = {}, .bytes = all.subspan(1, 2)}};
  }

 private:
  std::array<std::byte, 64> bytes_{};
};

TEST(WriteSafetensors, ReadsBackWithEveryTensorAligned) {
  const ScratchFolder folder;
  const Written written;
  const std::string path = folder.path("out.safetensors");
  write_safetensors(path, written.tensors());
  const MappedFile file(path);
  const std::vector<RawTensor> read = kSafetensors.parse(file.bytes(), path);
  ASSERT_EQ(read.size(), written.tensors().size());
  for (const NamedTensor& tensor : written.tensors()) {
    const auto at = std::find_if(read.begin(), read.end(),
                                 [&](const RawTensor& raw) { return raw.name == tensor.name; });
    ASSERT_NE(at, read.end()) << tensor.name;
    EXPECT_EQ(at->type, tensor.type);
    EXPECT_EQ(at->shape, tensor.shape);
    ASSERT_EQ(at->bytes.size(), tensor.bytes.size());
    EXPECT_TRUE(std::equal(at->bytes.begin(), at->bytes.end(), tensor.bytes.begin()));
    EXPECT_EQ((at->bytes.data() - file.bytes().data()) % raw_type_bytes(at->type), 0)
        << tensor.name;
  }
}

TEST(WriteSafetensors, OrderOfTheArgumentDoesNotChangeBytes) {
  const ScratchFolder folder;
  const Written written;
  std::vector<NamedTensor> tensors = written.tensors();
  write_safetensors(folder.path("a"), tensors);
  std::reverse(tensors.begin(), tensors.end());
  write_safetensors(folder.path("b"), tensors);
  EXPECT_EQ(read_file(folder.path("a"), 1 << 20), read_file(folder.path("b"), 1 << 20));
}

TEST(WriteSafetensors, NoTensorsAreAFileToo) {
  const ScratchFolder folder;
  write_safetensors(folder.path("a"), {});
  const MappedFile file(folder.path("a"));
  EXPECT_TRUE(kSafetensors.parse(file.bytes(), "a").empty());
}

TEST(WriteSafetensors, AnUnwritablePathIsNamed) {
  const ScratchFolder folder;
  const std::string path = folder.path("no/such/folder.safetensors");
  try {
    write_safetensors(path, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(contains(error.what(), path)) << error.what();
  }
}

TEST(WriteSafetensorsDeathTest, TwoEqualNamesAreABrokenPromise) {
  const ScratchFolder folder;
  const std::byte byte{1};
  const NamedTensor tensor{.name = "a", .type = RawType::kU8, .shape = {1}, .bytes = {&byte, 1}};
  const std::vector<NamedTensor> twice{tensor, tensor};
  EXPECT_DEATH(write_safetensors(folder.path("a"), twice), "names of their own");
}

}  // namespace
}  // namespace verbatim
