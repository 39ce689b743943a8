#include "cli/model_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

class ModelFolder : public testing::Test {
 protected:
  void touch(const std::string& name) const { scratch_.write(name, ""); }
  const ScratchFolder scratch_;
  const std::string& root_ = scratch_.path();
};

TEST_F(ModelFolder, TheInstallTreeHoldsModelsBesideTheProgram) {
  touch("bin/verbatim");
  touch("share/verbatim/models/vibevoice-asr-nano/config.json");
  touch("share/verbatim/models/voxtral-realtime-nano/params.json");
  touch("share/verbatim/models/qwen2.5-tokenizer/tokenizer.json");
  const BundledFiles found = bundled_files(root_ + "/bin");
  EXPECT_EQ(found.nano_vibevoice, root_ + "/share/verbatim/models/vibevoice-asr-nano");
  EXPECT_EQ(found.nano_voxtral, root_ + "/share/verbatim/models/voxtral-realtime-nano");
  EXPECT_EQ(found.tokenizer, root_ + "/share/verbatim/models/qwen2.5-tokenizer/tokenizer.json");
}

TEST_F(ModelFolder, TheBuildTreeHoldsModelsTwoFoldersUp) {
  touch("build/release/verbatim");
  touch("models/vibevoice-asr-nano/config.json");
  const BundledFiles found = bundled_files(root_ + "/build/release");
  EXPECT_EQ(found.nano_vibevoice, root_ + "/models/vibevoice-asr-nano");
  EXPECT_EQ(found.nano_voxtral, "");
  EXPECT_EQ(found.tokenizer, "");
}

TEST_F(ModelFolder, OnlyTheNanosNamesMeanBundledOnesAndNoFlagTheCommandsOwn) {
  const BundledFiles found{"/there/vibevoice", "/there/voxtral", ""};
  EXPECT_EQ(model_folder("", kNanoVibeVoice, found), "/there/vibevoice");
  EXPECT_EQ(model_folder("", kNanoVoxtral, found), "/there/voxtral");
  EXPECT_EQ(model_folder("nano-vibevoice", kNanoVoxtral, found), "/there/vibevoice");
  EXPECT_EQ(model_folder("nano-voxtral", kNanoVibeVoice, found), "/there/voxtral");
  EXPECT_EQ(model_folder("./nano-vibevoice", kNanoVibeVoice, found), "./nano-vibevoice");
}

TEST_F(ModelFolder, WithoutFlagAndBundleTheErrorNamesTheFlag) {
  try {
    model_folder("", kNanoVoxtral, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_EQ(
        std::string(error.what()).rfind("--model: none was given, and the bundled voxtral", 0), 0u);
  }
}

TEST(ExecutableFolder, IsWhereThisProgramLies) {
  EXPECT_TRUE(fs::is_directory(executable_folder()));
}

}  // namespace
}  // namespace verbatim
