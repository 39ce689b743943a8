// Files against a folder of their own: what is read back, what is left behind, what errors name.
#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

template <typename Action>
void expect_error(Code code, const std::string& part, const Action& action) {
  const std::string message = message_of(code, action);
  EXPECT_TRUE(contains(message, part)) << message;
}

// While it lives no file may grow beyond `bytes`: a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class FileTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return scratch_.path(name); }
  std::string put(const std::string& name, const std::string& text) const {
    return scratch_.write(name, text);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_))
      all.push_back(entry.path().filename());
    return all;
  }

  const ScratchFolder scratch_;
  const std::string& folder_ = scratch_.path();
};

TEST_F(FileTest, AMappingShowsTheFilesBytesEvenAfterTheyWereReleased) {
  std::string text(100000, '.');
  for (std::size_t index = 0; index < text.size(); ++index)
    text[index] = static_cast<char>(index * 7);
  const MappedFile file(put("a", text));
  EXPECT_EQ(text_of(file.bytes()), text);
  file.release(file.bytes());
  file.release(file.bytes().subspan(10, 5000));
  EXPECT_EQ(text_of(file.bytes()), text);
}

TEST_F(FileTest, AMappingMovesAndMayBeEmpty) {
  MappedFile first(put("a", "first"));
  MappedFile second(put("b", ""));
  EXPECT_TRUE(second.bytes().empty());
  second.release(second.bytes());
  second = std::move(first);
  EXPECT_EQ(text_of(second.bytes()), "first");
  EXPECT_EQ(second.path(), at("a"));
  const MappedFile third(std::move(second));
  EXPECT_EQ(text_of(third.bytes()), "first");
}

TEST_F(FileTest, ErrorsOfReadingNameThePath) {
  expect_error(Code::kNotFound, at("none"), [&] { MappedFile file(at("none")); });
  expect_error(Code::kNotFound, at("none"), [&] { read_file(at("none"), 10); });
  expect_error(Code::kNotFound, "/beyond", [&] { read_file(put("a", "") + "/beyond", 10); });
  expect_error(Code::kIo, folder_ + ": expected a regular file, found a folder",
               [&] { MappedFile file(folder_); });
  expect_error(Code::kIo, folder_ + ": cannot be read", [&] { read_file(folder_, 10); });
}

TEST_F(FileTest, AFileIsReadWholeUpToItsLimit) {
  const std::string path = put("a", "0123456789");
  EXPECT_EQ(read_file(path, 10), "0123456789");
  expect_error(Code::kCorrupt, path + ": expected at most 9 bytes, found 10",
               [&] { read_file(path, 9); });
  // A device has no size to look at first.
  expect_error(Code::kCorrupt, "/dev/zero: expected at most 100000 bytes",
               [&] { read_file("/dev/zero", 100000); });
}

TEST_F(FileTest, ASpoolReadsBackWhatWasAppendedWhereverTheBoundaryFalls) {
  std::mt19937 random(1);
  for (const std::size_t in_memory :
       {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{1} << 20}) {
    SpooledFile spool(in_memory, folder_);
    std::string all;
    for (int block = 0; block < 200; ++block) {
      std::string part(random() % 100, '\0');
      for (char& byte : part) byte = static_cast<char>(random());
      spool.append(bytes_of(part));
      all += part;
      ASSERT_EQ(spool.size(), all.size());
      const std::size_t from = random() % (all.size() + 1);
      std::vector<std::byte> some(random() % (all.size() - from + 1));
      spool.read(from, some);
      ASSERT_EQ(text_of(some), all.substr(from, some.size())) << "in_memory " << in_memory;
    }
    EXPECT_TRUE(names().empty()) << "the spool has a name on the disk";
  }
}

TEST_F(FileTest, ASpoolOnAFullDiskNamesTheFolderAndKeepsWhatItHad) {
  SpooledFile spool(1000, folder_);
  spool.append(bytes_of(std::string(1500, 'a')));
  {
    const FullDisk full(4000);
    expect_error(Code::kIo, folder_ + ": a temporary file cannot grow to 6500 bytes",
                 [&] { spool.append(bytes_of(std::string(5000, 'b'))); });
  }
  EXPECT_EQ(spool.size(), 1500u);
  spool.append(bytes_of("c"));
  std::vector<std::byte> end(2);
  spool.read(1499, end);
  EXPECT_EQ(text_of(end), "ac");
}

TEST_F(FileTest, ASpoolWithoutAFolderSaysSo) {
  SpooledFile spool(0, at("none"));
  expect_error(Code::kIo, at("none") + ": no temporary file", [&] { spool.append(bytes_of("a")); });
}

TEST_F(FileTest, AnOutputAppearsWholeOnCommit) {
  AtomicFile file(at("out"));
  file.write("one ");
  EXPECT_FALSE(fs::exists(at("out")));
  file.write("two");
  file.commit();
  EXPECT_EQ(read_file(at("out"), 100), "one two");
  EXPECT_EQ(names(), std::vector<std::string>{"out"});
}

TEST_F(FileTest, WithoutCommitTheOlderFileStaysAndNothingElse) {
  put("out", "old");
  {
    AtomicFile file(at("out"));
    file.write("new");
  }
  EXPECT_EQ(read_file(at("out"), 100), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"out"});
}

TEST_F(FileTest, AFullDiskLeavesTheOlderFileAndNothingElse) {
  put("out", "old");
  {
    const FullDisk full(1000);
    AtomicFile file(at("out"));
    expect_error(Code::kIo, at("out") + ": cannot be written",
                 [&] { file.write(std::string(5000, 'x')); });
  }
  EXPECT_EQ(read_file(at("out"), 100), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"out"});
  expect_error(Code::kIo, "/dev/full: cannot be written: No space left on device",
               [] { AtomicFile("/dev/full").write("x"); });
}

TEST_F(FileTest, AnOutputThatCannotBeMadeIsRefusedAtOnce) {
  expect_error(Code::kIo, at("none/out") + ": cannot be written",
               [&] { AtomicFile file(at("none/out")); });
  expect_error(Code::kIo, folder_ + ": expected a file to write, found a folder",
               [&] { AtomicFile file(folder_); });
}

TEST_F(FileTest, ALinkStaysALinkAndAModeStaysAMode) {
  put("target", "old");
  ::chmod(at("target").c_str(), 0640);
  fs::create_symlink("target", at("link"));
  AtomicFile file(at("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read_file(at("target"), 100), "new");
  EXPECT_EQ(fs::status(at("target")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(FileTest, TwoOutputsOfOnePathDoNotMix) {
  AtomicFile first(at("out"));
  AtomicFile second(at("out"));
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(at("out"), 100), "first");
}

TEST_F(FileTest, PipesAndDevicesAreWrittenDirectly) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string heard;
  std::thread reader([&] { heard = read_file(at("pipe"), 100); });
  {
    AtomicFile file(at("pipe"));
    file.write("through");
    file.commit();
  }
  reader.join();
  EXPECT_EQ(heard, "through");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  AtomicFile null("/dev/null");
  null.write("gone");
  null.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, ARedirectedStreamIsContinuedNotReplaced) {
  const int log = ::open(put("log", "").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::write(log, "line\n", 5), 5);
  AtomicFile file(formatted("/dev/fd/%d", log));
  file.write("more\n");
  file.commit();
  ASSERT_EQ(::write(log, "end\n", 4), 4);
  ::close(log);
  EXPECT_EQ(read_file(at("log"), 100), "line\nmore\nend\n");
}

}  // namespace
}  // namespace verbatim
