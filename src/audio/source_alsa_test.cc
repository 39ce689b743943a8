// ALSA's own file plugin is the microphone. Where the library is not installed there is only the
// sentence that says so.
#include "audio/source_alsa.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

// Plays `bytes` at whatever speed they are asked for; the library reads the variable.
void play(const ScratchFolder& folder, std::string_view bytes,
          const std::string& copy = "/dev/null") {
  const std::string file = "type file slave.pcm nothing file " + copy + " infile \"" +
                           folder.write("x.raw", bytes) + "\" format raw";
  const std::string conf =
      "pcm.nothing { type null }\n"
      "pcm.fake { " +
      file +
      " hint { show on description \"A fake microphone\" } }\n"
      "pcm.fixed { type plug slave { rate 48000 channels 2 format S32_LE pcm { " +
      file + " } } }\n";
  ASSERT_EQ(::setenv("ALSA_CONFIG_PATH", folder.write("asound.conf", conf).c_str(), 1), 0);
}

class Alsa : public testing::Test {
 protected:
  void SetUp() override {
    // Held, because the library does not bear being unloaded.
    if (::dlopen("libasound.so.2", RTLD_NOW) == nullptr) {
      EXPECT_TRUE(contains(open_alsa("default", 16000).problem, "libasound2"));
      EXPECT_TRUE(contains(list_alsa().problem, "libasound2"));
      GTEST_SKIP() << "libasound.so.2 is not installed here";
    }
  }
  void TearDown() override { ::unsetenv("ALSA_CONFIG_PATH"); }
  ScratchFolder folder_;
};

TEST_F(Alsa, ADeviceGivesWhatItCapturesAtTheRateThatIsAskedFor) {
  std::vector<std::int16_t> samples(32000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::int16_t>(i);
  std::string bytes(samples.size() * 2, '\0');
  std::memcpy(bytes.data(), samples.data(), bytes.size());
  play(folder_, bytes);
  const OpenedCapture opened = open_alsa("fake", 16000);
  ASSERT_TRUE(opened.device) << opened.problem;
  EXPECT_EQ(opened.device->format().sample_rate_hz, 16000);
  EXPECT_EQ(opened.device->format().channels, 1);
  EXPECT_EQ(opened.device->format().format, SampleFormat::kS16);
  std::vector<std::byte> block(1280);
  std::string heard;
  while (heard.size() + block.size() <= bytes.size()) {
    const Captured captured = opened.device->read(block, std::chrono::milliseconds(1000));
    ASSERT_EQ(captured.state, Captured::State::kRunning) << captured.reason;
    heard.append(reinterpret_cast<const char*>(block.data()), captured.frames * 2);
  }
  EXPECT_EQ(heard, bytes.substr(0, heard.size()));
}

TEST_F(Alsa, ADeviceOfOneRateIsHeardAtIts) {
  play(folder_, std::string(100000, '\0'));
  const OpenedCapture opened = open_alsa("fixed", 16000);
  ASSERT_TRUE(opened.device) << opened.problem;
  EXPECT_EQ(opened.device->format().sample_rate_hz, 48000);
}

TEST_F(Alsa, ADeviceThatFailsIsGoneWithItsReason) {
  // The plugin fails once it cannot write its copy.
  play(folder_, std::string(1 << 20, '\0'), "/dev/full");
  const OpenedCapture opened = open_alsa("fake", 16000);
  ASSERT_TRUE(opened.device) << opened.problem;
  std::vector<std::byte> block(1280);
  Captured captured;
  for (int i = 0; i < 800 && captured.state == Captured::State::kRunning; ++i)
    captured = opened.device->read(block, std::chrono::milliseconds(1000));
  EXPECT_EQ(captured.state, Captured::State::kGone);
  EXPECT_FALSE(captured.reason.empty());
}

TEST_F(Alsa, AnUnknownDeviceIsNamed) {
  play(folder_, "");
  const OpenedCapture opened = open_alsa("nowhere", 16000);
  EXPECT_FALSE(opened.device);
  EXPECT_TRUE(contains(opened.problem, "'nowhere'")) << opened.problem;
}

TEST_F(Alsa, DevicesAreListedWithOneLineEach) {
  play(folder_, "");
  const CaptureNames names = list_alsa();
  ASSERT_EQ(names.devices.size(), 1u) << names.problem;
  EXPECT_EQ(names.devices[0].name, "fake");
  EXPECT_EQ(names.devices[0].description, "A fake microphone");
}

}  // namespace
}  // namespace verbatim
