#include "cli/targets.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

class TargetFiles : public testing::Test {
 protected:
  TargetFiles() {
    scratch_.write("in.wav", "audio");
    fs::create_symlink(at("in.wav"), at("link.wav"));
    fs::create_hard_link(at("in.wav"), at("hard.wav"));
    fs::create_directory(at("below"));
  }
  std::string at(const std::string& name) const { return scratch_.path(name); }
  // The sentence that refuses the last of the paths, or nothing.
  std::string refusal(const std::vector<std::pair<const char*, std::string>>& written) const {
    const std::vector<Input> inputs{{at("in.wav"), "in.wav"}, {"-", "stdin"}};
    Targets targets(inputs);
    try {
      for (const auto& [flag, path] : written) targets.add(flag, path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.what();
    }
    return "";
  }
  const ScratchFolder scratch_;
};

TEST_F(TargetFiles, ARecordingIsNotWrittenOverUnderAnyName) {
  for (const std::string& name : {at("in.wav"), at("link.wav"), at("hard.wav"), at("./in.wav")})
    EXPECT_EQ(refusal({{"--dump", name}}),
              "--dump: " + name + " is a recording that is to be read");
}

TEST_F(TargetFiles, TwoFlagsDoNotWriteOneFile) {
  EXPECT_EQ(refusal({{"--output", at("new")}, {"--dump", at("below/../new")}}),
            "--dump: " + at("below/../new") + " is what --output writes to as well");
  EXPECT_EQ(refusal({{"--output", at("new")}, {"--dump", at("newer")}}), "");
}

TEST_F(TargetFiles, DevicesMayBeWrittenByMany) {
  EXPECT_EQ(refusal({{"--output", "/dev/null"}, {"--dump", "/dev/null"}}), "");
}

}  // namespace
}  // namespace verbatim
