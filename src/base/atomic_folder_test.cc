// The folder is there with all its files, or not at all.
#include "base/atomic_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::size_t entries(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

TEST(AtomicFolder, AppearsWholeAtItsCommit) {
  const ScratchFolder scratch;
  const std::string path = scratch.path("made");
  AtomicFolder folder(path + "/");
  SizedFile file(folder, "a", 6);
  file.write(3, bytes_of("def"));
  file.write(0, bytes_of("abc"));
  file.close();
  EXPECT_FALSE(fs::exists(path));
  folder.commit();
  EXPECT_EQ(read_file(path + "/a", 100), "abcdef");
  EXPECT_EQ(entries(scratch.path()), 1U);
}

TEST(AtomicFolder, WithoutACommitNothingIsLeft) {
  const ScratchFolder scratch;
  {
    AtomicFolder folder(scratch.path("made"));
    SizedFile file(folder, "a", 6);
    file.write(0, bytes_of("abc"));
    EXPECT_EQ(entries(scratch.path()), 1U);
  }
  EXPECT_EQ(entries(scratch.path()), 0U);
}

TEST(AtomicFolder, TakesTheNameOfAnEmptyFolderAndOfNoOther) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("empty"));
  AtomicFolder folder(scratch.path("empty"));
  SizedFile(folder, "a", 0).close();
  folder.commit();
  EXPECT_TRUE(fs::exists(scratch.path("empty/a")));
  for (const char* name : {"empty", "empty/a"}) {
    const std::string message =
        message_of(Code::kInvalidArgument, [&] { const AtomicFolder again(scratch.path(name)); });
    EXPECT_TRUE(contains(message, scratch.path(name))) << message;
    EXPECT_TRUE(contains(message, "an empty one")) << message;
  }
  EXPECT_EQ(entries(scratch.path()), 1U);
}

TEST(AtomicFolder, APlainNameIsBesideTheCaller) {
  const ScratchFolder scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  AtomicFolder folder("made");
  folder.commit();
  fs::current_path(before);
  EXPECT_TRUE(fs::is_directory(scratch.path("made")));
}

TEST(AtomicFolder, ALinkIsFollowedToAnEmptyFolderAndNotToNothing) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("real"));
  fs::create_directory_symlink(scratch.path("real"), scratch.path("link"));
  fs::create_directory_symlink(scratch.path("none"), scratch.path("dangling"));
  AtomicFolder folder(scratch.path("link"));
  SizedFile(folder, "a", 0).close();
  folder.commit();
  EXPECT_TRUE(fs::is_symlink(scratch.path("link")));
  EXPECT_TRUE(fs::exists(scratch.path("real/a")));
  const std::string message = message_of(
      Code::kInvalidArgument, [&] { const AtomicFolder none(scratch.path("dangling")); });
  EXPECT_TRUE(contains(message, "a link to nothing")) << message;
}

TEST(AtomicFolder, AMissingParentIsNamed) {
  const ScratchFolder scratch;
  const std::string message =
      message_of(Code::kNotFound, [&] { const AtomicFolder folder(scratch.path("no/made")); });
  EXPECT_TRUE(contains(message, scratch.path("no"))) << message;
}

TEST(AtomicFolder, AFullDiskIsToldWhenAFileIsMade) {
  const ScratchFolder scratch;
  AtomicFolder folder(scratch.path("made"));
  void (*handler)(int) = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message =
      message_of(Code::kIo, [&] { const SizedFile file(folder, "a", 1 << 20); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(contains(message, scratch.path("made/a"))) << message;
  EXPECT_TRUE(contains(message, "1048576")) << message;
}

TEST(AtomicFolder, AnInterruptEndsAWrite) {
  const ScratchFolder scratch;
  AtomicFolder folder(scratch.path("made"));
  SizedFile file(folder, "a", 6);
  set_interrupted(true);
  message_of(Code::kCancelled, [&] { file.write(0, bytes_of("abc")); });
  set_interrupted(false);
}

}  // namespace
}  // namespace verbatim
