#include "cli/model_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "model_folder_" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void touch(const std::string& name) const {
    const fs::path path = fs::path(root_) / name;
    fs::create_directories(path.parent_path());
    AtomicFile file(path.string());
    file.commit();
  }
  std::string root_;
};

TEST_F(ModelFolder, TheInstallTreeHoldsModelsBesideTheProgram) {
  touch("bin/verbatim");
  touch("share/verbatim/models/vibevoice-asr-nano/config.json");
  touch("share/verbatim/models/qwen2.5-tokenizer/tokenizer.json");
  const BundledFiles found = bundled_files(root_ + "/bin");
  EXPECT_EQ(found.nano, root_ + "/share/verbatim/models/vibevoice-asr-nano");
  EXPECT_EQ(found.tokenizer, root_ + "/share/verbatim/models/qwen2.5-tokenizer/tokenizer.json");
}

TEST_F(ModelFolder, TheBuildTreeHoldsModelsTwoFoldersUp) {
  touch("build/release/verbatim");
  touch("models/vibevoice-asr-nano/config.json");
  const BundledFiles found = bundled_files(root_ + "/build/release");
  EXPECT_EQ(found.nano, root_ + "/models/vibevoice-asr-nano");
  EXPECT_EQ(found.tokenizer, "");
}

TEST_F(ModelFolder, OnlyNoFlagAndTheNanosNameMeanTheBundledOne) {
  const BundledFiles found{"/there/nano", ""};
  EXPECT_EQ(model_folder("", found), "/there/nano");
  EXPECT_EQ(model_folder("nano-vibevoice", found), "/there/nano");
  EXPECT_EQ(model_folder("./nano-vibevoice", found), "./nano-vibevoice");
}

TEST_F(ModelFolder, WithoutFlagAndBundleTheErrorNamesTheFlag) {
  try {
    model_folder("", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_EQ(std::string(error.what()).rfind("--model: ", 0), 0u);
  }
}

TEST(ExecutableFolder, IsWhereThisProgramLies) {
  EXPECT_TRUE(fs::is_directory(executable_folder()));
}

}  // namespace
}  // namespace verbatim
