// A recording on the way from its source to the model.
#include "cli/heard_source.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

class Ramp : public AudioSource {
 public:
  std::int32_t sample_rate_hz() const override { return 1000; }
  std::int32_t channels() const override { return 1; }
  double duration_s() const override { return 0; }
  std::vector<AudioNote> notes() const override { return {{"audio_not_finite", "one sample"}}; }
  std::size_t read(std::span<float> block) override {
    const std::size_t count = std::min<std::size_t>(block.size(), 4000 - at_);
    for (std::size_t i = 0; i < count; ++i) block[i] = static_cast<float>(at_++) * 0x1p-12F;
    return count;
  }

 private:
  std::size_t at_ = 0;
};

std::vector<float> read_all(AudioSource& source) {
  std::vector<float> all(5000);
  std::size_t count = 0;
  while (const std::size_t got = source.read(std::span(all).subspan(count, 700))) count += got;
  all.resize(count);
  return all;
}

std::vector<float> saved(const std::string& path) {
  AudioRequest request;
  request.what = path;
  return read_all(*open_audio(request));
}

class Heard : public testing::Test {
 protected:
  HeardSource source(std::unique_ptr<WavWriter> file) {
    return HeardSource(std::make_unique<Ramp>(), std::move(file), meter_,
                       [this](const Warning& warning) { warnings_.push_back(warning); });
  }
  ScratchFolder folder_;
  // The file reader takes no rates below 4 kHz.
  std::unique_ptr<WavWriter> writer() {
    return std::make_unique<WavWriter>(folder_.path("heard.wav"), 16000);
  }
  LevelMeter meter_{MeterSetup{}};
  std::vector<Warning> warnings_;
};

TEST_F(Heard, SamplesPassAndAreSavedToTheBit) {
  Ramp plain;
  const std::vector<float> expected = read_all(plain);
  HeardSource heard = source(writer());
  EXPECT_EQ(read_all(heard), expected);
  EXPECT_EQ(saved(folder_.path("heard.wav")), expected);
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(heard.notes().size(), 1u);
}

TEST_F(Heard, AFullDiskIsAWarningAndTheListeningGoesOn) {
  HeardSource heard = source(writer());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<float> passed = read_all(heard);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(passed.size(), 4000u);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_STREQ(warnings_[0].code, "audio_not_saved");
  EXPECT_DOUBLE_EQ(warnings_[0].start_s, 0.7);
  EXPECT_TRUE(contains(warnings_[0].message, folder_.path("heard.wav")));
  EXPECT_EQ(saved(folder_.path("heard.wav")).size(), 700u);
}

TEST_F(Heard, WithoutAFileNothingIsKept) {
  HeardSource heard = source(nullptr);
  EXPECT_EQ(read_all(heard).size(), 4000u);
  EXPECT_TRUE(warnings_.empty());
}

}  // namespace
}  // namespace verbatim
