#include "cli/inputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

class Inputs : public testing::Test {
 protected:
  std::string touch(const std::string& name) const { return scratch_.write(name, ""); }
  static std::vector<std::string> below(const std::vector<Input>& inputs) {
    std::vector<std::string> names;
    for (const Input& input : inputs) names.push_back(input.below);
    return names;
  }

  const ScratchFolder scratch_;
  const std::string& folder_ = scratch_.path();
};

std::vector<std::string> names(const std::vector<std::string>& below,
                               const std::vector<const char*>& formats = {"text"}) {
  std::vector<Input> inputs;
  for (const std::string& name : below) inputs.push_back({"/somewhere/" + name, name});
  std::vector<const Writer*> writers;
  for (const char* const format : formats) writers.push_back(&find_writer(format));
  return result_names(inputs, writers);
}

using Names = std::vector<std::string>;

TEST_F(Inputs, AFolderGivesItsAudioInTheOrderOfBytes) {
  for (const char* const name : {"b.wav", "a.FLAC", "sub/c.mp3", "sub/deep/d.ogg", "notes.txt",
                                 "a.json", ".hidden.wav", ".git/x.wav", "wav"})
    touch(name);
  EXPECT_EQ(below(expand_inputs(std::vector<std::string>{folder_})),
            (Names{"a.FLAC", "b.wav", "sub/c.mp3", "sub/deep/d.ogg"}));
}

TEST_F(Inputs, AFolderMayEndInASlash) {
  touch("sub/a.wav");
  EXPECT_EQ(below(expand_inputs(std::vector<std::string>{folder_ + "/"})), Names{"sub/a.wav"});
}

TEST_F(Inputs, AFileThatIsNamedOutrightMayHaveAnyNameAndBeAbsent) {
  const std::vector<Input> inputs =
      expand_inputs(std::vector<std::string>{"no/such/file.xyz", "-"});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].path, "no/such/file.xyz");
  EXPECT_EQ(inputs[0].below, "file.xyz");
  EXPECT_EQ(inputs[1].path, "-");
  EXPECT_EQ(inputs[1].below, "stdin");
}

TEST_F(Inputs, WhatComesTwiceCountsOnce) {
  const std::string file = touch("a.wav");
  touch("b.wav");
  EXPECT_EQ(
      below(expand_inputs(std::vector<std::string>{file, folder_, folder_ + "/./a.wav", "-", "-"})),
      (Names{"a.wav", "b.wav", "stdin"}));
}

TEST_F(Inputs, AFolderWithoutAudioIsRefusedByName) {
  touch("notes.txt");
  try {
    expand_inputs(std::vector<std::string>{folder_});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_NE(std::string(error.what()).find(folder_), std::string::npos);
  }
}

TEST_F(Inputs, ALinkThatLeadsInACircleEnds) {
  touch("sub/a.wav");
  fs::create_directory_symlink("..", folder_ + "/sub/up");
  fs::create_symlink("nowhere", folder_ + "/broken.wav");
  EXPECT_EQ(below(expand_inputs(std::vector<std::string>{folder_})), Names{"sub/a.wav"});
}

TEST(ResultNames, ANameAloneLosesItsExtension) {
  EXPECT_EQ(names({"a.wav", "sub/b.mp3", "stdin"}), (Names{"a", "sub/b", "stdin"}));
}

TEST(ResultNames, NamesThatDifferByExtensionKeepIt) {
  EXPECT_EQ(names({"a.wav", "a.mp3", "b.wav"}), (Names{"a.wav", "a.mp3", "b"}));
}

TEST(ResultNames, EqualNamesAreNumbered) {
  EXPECT_EQ(names({"a.wav", "a.wav", "a.wav"}), (Names{"a.wav-1", "a.wav-2", "a.wav-3"}));
}

TEST(ResultNames, ANumberPassesOverNamesThatAreTaken) {
  EXPECT_EQ(names({"a.wav", "a.wav", "a.wav-1.mp3"}), (Names{"a.wav-2", "a.wav-3", "a.wav-1"}));
}

TEST(ResultNames, TheTreeKeepsEqualNamesApart) {
  EXPECT_EQ(names({"x/a.wav", "y/a.wav"}), (Names{"x/a", "y/a"}));
}

TEST(ResultNames, ExtensionsOfFormatsCountToo) {
  // "a" as verbose_json and "a.verbose" as json would be one file.
  const std::string extension = find_writer("verbose_json").extension;
  const std::string stem = extension.substr(0, extension.find('.'));
  const Names found = names({"a.wav", "a." + stem + ".wav"}, {"json", "verbose_json"});
  std::set<std::string> files;
  for (const std::string& name : found)
    for (const char* const format : {"json", "verbose_json"})
      EXPECT_TRUE(files.insert(name + "." + find_writer(format).extension).second) << name;
}

TEST(ResultNames, NoTwoInputsShareAFile) {
  const Names below = {"a.wav",     "a.mp3",   "a.wav",    "a.wav-1.wav", "a.wav-1", "a",
                       "a.wav.wav", "x/a.wav", "x/a.flac", "a.wav-2.mp3", "b"};
  std::set<std::string> files;
  for (const std::string& name : names(below, {"json", "verbose_json", "text", "srt"})) {
    for (const char* const format : {"json", "verbose_json", "text", "srt"})
      EXPECT_TRUE(files.insert(name + "." + find_writer(format).extension).second) << name;
  }
}

TEST(ResultNames, ManyEqualNamesTakeNoSquareOfTheirNumber) {
  const Names found = names(Names(20000, "audio.wav"), {"text", "json"});
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
  EXPECT_EQ(found.back(), "audio.wav-20000");
}

}  // namespace
}  // namespace verbatim
