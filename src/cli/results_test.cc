#include "cli/results.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

class ResultFiles : public testing::Test {
 protected:
  void touch(const std::string& name) const { scratch_.write(name, "old"); }
  std::vector<std::string> listing() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file())
        found.push_back(entry.path().lexically_relative(folder_).string());
    std::sort(found.begin(), found.end());
    return found;
  }
  const ScratchFolder scratch_;
  const std::string& folder_ = scratch_.path();
};

Transcript transcript(const char* text) {
  Transcript made;
  made.text = text;
  return made;
}

std::vector<Input> inputs(const std::vector<std::string>& below) {
  std::vector<Input> made;
  for (const std::string& name : below) made.push_back({"/absent/" + name, name});
  return made;
}

std::string refusal(const ResultFlags& flags, const std::vector<Input>& of, Code code) {
  try {
    const Results results(flags, of);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "accepted";
}

TEST_F(ResultFiles, OneFormatTakesTheNameAsItIsAndSeveralAddTheirExtensions) {
  ResultFlags flags;
  flags.output = folder_ + "/out";
  flags.formats = {"text"};
  Results(flags, inputs({"a.wav"})).deliver(0, transcript("hello"), {}, true);
  EXPECT_EQ(read_file(folder_ + "/out", 100), "hello\n");
  flags.formats = {"text", "srt"};
  Results(flags, inputs({"a.wav"})).deliver(0, transcript("hello"), {}, true);
  EXPECT_EQ(listing(), (std::vector<std::string>{"out", "out.srt", "out.txt"}));
}

TEST_F(ResultFiles, AFolderIsMadeWithTheTreeBelowIt) {
  ResultFlags flags;
  flags.output_dir = folder_ + "/new/out";
  Results results(flags, inputs({"x/a.wav", "b.wav"}));
  results.deliver(1, transcript("b"), {}, true);
  results.deliver(0, transcript("a"), {}, true);
  EXPECT_EQ(listing(), (std::vector<std::string>{"new/out/b.txt", "new/out/x/a.txt"}));
}

TEST_F(ResultFiles, AnInterruptedResultInAFolderIsNotTakenForAWholeOne) {
  ResultFlags flags;
  flags.output_dir = folder_;
  flags.skip_existing = true;
  Results(flags, inputs({"a.wav"})).deliver(0, transcript("half"), {}, false);
  EXPECT_EQ(listing(), std::vector<std::string>{"a.interrupted.txt"});
  EXPECT_FALSE(Results(flags, inputs({"a.wav"})).is_there(0));
}

TEST_F(ResultFiles, OnlyAllFormatsTogetherAreThere) {
  touch("a.txt");
  touch("b.txt");
  touch("b.srt");
  ResultFlags flags;
  flags.output_dir = folder_;
  flags.formats = {"text", "srt"};
  EXPECT_FALSE(Results(flags, inputs({"b.wav"})).is_there(0)) << "without --skip-existing";
  flags.skip_existing = true;
  Results results(flags, inputs({"a.wav", "b.wav"}));
  EXPECT_FALSE(results.is_there(0));
  EXPECT_TRUE(results.is_there(1));
}

TEST_F(ResultFiles, WhatCannotBeWrittenIsToldBeforeTheWork) {
  ResultFlags flags;
  flags.output = folder_ + "/no/out.txt";
  EXPECT_NE(refusal(flags, inputs({"a.wav"}), Code::kIo).find("there is no folder"),
            std::string::npos);
  flags.output = folder_;
  EXPECT_NE(refusal(flags, inputs({"a.wav"}), Code::kIo).find("is a folder"), std::string::npos);
  flags.output = folder_ + "/" + std::string(300, 'x');
  EXPECT_NE(refusal(flags, inputs({"a.wav"}), Code::kIo).find("too long"), std::string::npos);
  touch("file");
  flags = {};
  flags.output_dir = folder_ + "/file";
  EXPECT_NE(refusal(flags, inputs({"a.wav"}), Code::kIo), "accepted");
  if (::geteuid() == 0) return;  // root may write everywhere
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  flags.output_dir = folder_;
  EXPECT_NE(refusal(flags, inputs({"a.wav"}), Code::kIo), "accepted");
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(ResultFiles, AFailedWriteLeavesNoneOfTheFormats) {
  touch("a.txt");
  ResultFlags flags;
  flags.output_dir = folder_;
  flags.formats = {"text", "srt"};
  Results results(flags, inputs({"a.wav"}));
  fs::create_directory(folder_ + "/a.srt");  // appears while the work goes on
  EXPECT_THROW(results.deliver(0, transcript("new"), {}, true), Error);
  EXPECT_EQ(listing(), std::vector<std::string>{"a.txt"});
  EXPECT_EQ(read_file(folder_ + "/a.txt", 100), "old");
}

TEST(ResultFlagsOfStdout, ContradictionsNameTheirFlag) {
  ResultFlags flags;
  flags.formats = {"text", "srt"};
  EXPECT_EQ(refusal(flags, inputs({"a.wav"}), Code::kInvalidArgument).rfind("--format: ", 0), 0u);
  flags.formats = {"srt"};
  EXPECT_EQ(
      refusal(flags, inputs({"a.wav", "b.wav"}), Code::kInvalidArgument).rfind("--format: ", 0),
      0u);
  flags.formats = {"xml"};
  EXPECT_NE(refusal(flags, inputs({"a.wav"}), Code::kInvalidArgument).find("diarized_json"),
            std::string::npos);
  flags = {};
  flags.skip_existing = true;
  EXPECT_EQ(refusal(flags, inputs({"a.wav"}), Code::kInvalidArgument).rfind("--skip-existing: ", 0),
            0u);
  flags = {};
  flags.output = "x";
  EXPECT_EQ(
      refusal(flags, inputs({"a.wav", "b.wav"}), Code::kInvalidArgument).rfind("--output: ", 0),
      0u);
  flags.output_dir = "y";
  EXPECT_EQ(refusal(flags, inputs({"a.wav"}), Code::kInvalidArgument).rfind("--output: ", 0), 0u);
}

TEST(ResultsOnStdout, ComeInTheOrderOfTheInputs) {
  ResultFlags flags;
  flags.formats = {"text"};
  Results results(flags, inputs({"a", "b", "c", "d"}));
  testing::internal::CaptureStdout();
  results.deliver(2, transcript("third"), {}, true);
  results.deliver(1, transcript("second"), {}, true);
  results.pass_over(0);
  results.deliver(3, transcript("fourth"), {}, true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "second\nthird\nfourth\n");
}

TEST(ResultsOnStdout, WithoutAFormatAreLinesAndSeveralHaveHeadings) {
  Transcript one = transcript("open door");
  one.source = "x/a.wav";
  one.segments.push_back({0.4, 1.3, 0, "open door", {}, {}});
  Results results({}, inputs({"a", "b"}));
  testing::internal::CaptureStdout();
  results.deliver(0, one, {}, true);
  one.segments.clear();
  results.deliver(1, one, {}, true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "==> x/a.wav <==\n[0.40 - 1.30] Speaker 0: open door\n==> x/a.wav <==\nopen door\n");
}

}  // namespace
}  // namespace verbatim
