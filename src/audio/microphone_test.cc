// A device that does as it is told, on a clock that moves when somebody waits.
#include "audio/microphone.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <limits>
#include <utility>

#include "audio/resampler.h"

namespace verbatim {
namespace {

constexpr double kBlockS = 0.02;

// What the device does next: samples that it gives, or what becomes of it.
struct Step {
  std::vector<float> samples;  // interleaved
  Captured::State state = Captured::State::kRunning;
};

struct Script {
  RawFormat format{16000, SampleFormat::kF32, 1};
  std::deque<Step> steps;
  std::atomic<bool> end{false};  // set when all has been given
  double now_s = 100;
  int opened = 0;
  int refuses = 0;  // to be opened, so many times
  std::vector<std::string> gone;
  std::vector<CaptureGap> gaps;
};

class ScriptedDevice : public CaptureDevice {
 public:
  explicit ScriptedDevice(Script& script) : script_(script), format_(script.format) {}
  RawFormat format() const override { return format_; }

  Captured read(std::span<std::byte> to, std::chrono::milliseconds) override {
    if (script_.steps.empty()) {
      script_.end = true;
      return {};
    }
    script_.now_s += kBlockS;
    Step& step = script_.steps.front();
    const std::size_t bytes = std::min(to.size(), step.samples.size() * sizeof(float));
    if (bytes > 0) std::memcpy(to.data(), step.samples.data(), bytes);
    const std::size_t samples = bytes / sizeof(float);
    step.samples.erase(step.samples.begin(),
                       step.samples.begin() + static_cast<std::ptrdiff_t>(samples));
    const bool is_done = step.samples.empty();
    const Captured captured{samples / static_cast<std::size_t>(format_.channels),
                            is_done ? step.state : Captured::State::kRunning, "it was unplugged"};
    if (is_done) script_.steps.pop_front();
    return captured;
  }

 private:
  Script& script_;
  RawFormat format_;
};

Microphone microphone(Script& script, std::int32_t rate_hz = 16000) {
  MicrophoneSetup setup;
  setup.sample_rate_hz = rate_hz;
  setup.open = [&script] {
    ++script.opened;
    if (script.refuses-- > 0) return OpenedCapture{nullptr, "there is none"};
    return OpenedCapture{std::make_unique<ScriptedDevice>(script), ""};
  };
  setup.gone = [&script](const std::string& reason) { script.gone.push_back(reason); };
  setup.gap = [&script](const CaptureGap& gap) { script.gaps.push_back(gap); };
  setup.end = &script.end;
  setup.now_s = [&script] { return script.now_s; };
  setup.pause = [&script](std::chrono::milliseconds time) {
    script.now_s += static_cast<double>(time.count()) / 1000;
  };
  return Microphone(std::make_unique<ScriptedDevice>(script), std::move(setup));
}

std::vector<float> read_all(Microphone& microphone, std::size_t block_samples = 1000) {
  std::vector<float> all;
  std::vector<float> block(block_samples);
  while (const std::size_t count = microphone.read(block))
    all.insert(all.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

std::vector<float> ramp(std::size_t samples, float first = 0) {
  std::vector<float> values(samples);
  for (std::size_t i = 0; i < samples; ++i)
    values[i] = first + static_cast<float>(i % 977) / 1000 - 0.4F;
  return values;
}

std::vector<float> resampled(const std::vector<float>& samples, std::int32_t in, std::int32_t out) {
  Resampler resampler(in, out);
  resampler.push(samples);
  resampler.finish();
  std::vector<float> all(samples.size() * 4);
  all.resize(resampler.pull(all));
  return all;
}

TEST(Microphone, WhatIsThereComesAtOnce) {
  Script script;
  script.steps = {{ramp(7)}, {ramp(5)}};
  Microphone mic = microphone(script);
  std::vector<float> block(1000);
  EXPECT_EQ(mic.read(block), 7u);
  EXPECT_EQ(mic.read(block), 5u);
}

TEST(Microphone, BlockSizesDoNotChangeSamples) {
  const std::vector<float> whole = ramp(5000);
  for (const std::size_t size : {1u, 79u, 5000u}) {
    Script script;
    script.steps = {{whole}};
    Microphone mic = microphone(script);
    EXPECT_EQ(read_all(mic, size), whole);
  }
}

TEST(Microphone, ChannelsBecomeTheirMean) {
  Script script;
  script.format.channels = 2;
  script.steps = {{{0.5F, 0.25F, -1.0F, 1.0F}}};
  Microphone mic = microphone(script);
  EXPECT_EQ(read_all(mic), (std::vector<float>{0.375F, 0.0F}));
}

TEST(Microphone, AnotherRateGoesThroughTheResampler) {
  const std::vector<float> whole = ramp(9000);
  Script script;
  script.format.sample_rate_hz = 48000;
  script.steps = {{whole}};
  Microphone mic = microphone(script);
  EXPECT_EQ(read_all(mic, 100), resampled(whole, 48000, 16000));
}

TEST(Microphone, ADeviceThatComesBackIsHeardAgainAndTheGapIsToldNotFilled) {
  Script script;
  script.steps = {{ramp(1600), Captured::State::kGone}, {ramp(800, 0.1F)}};
  script.refuses = 2;
  Microphone mic = microphone(script);
  std::vector<float> expected = ramp(1600);
  const std::vector<float> behind = ramp(800, 0.1F);
  expected.insert(expected.end(), behind.begin(), behind.end());
  EXPECT_EQ(read_all(mic), expected);
  EXPECT_EQ(script.gone, std::vector<std::string>{"it was unplugged"});
  EXPECT_EQ(script.opened, 3);
  ASSERT_EQ(script.gaps.size(), 1u);
  EXPECT_DOUBLE_EQ(script.gaps[0].at_s, 0.1);
  EXPECT_TRUE(script.gaps[0].was_away);
  // Three tries, a second apart.
  EXPECT_NEAR(script.gaps[0].length_s, 3, 0.3);
}

TEST(Microphone, ADeviceThatOpensButGivesNothingIsNotBack) {
  Script script;
  script.steps = {{ramp(160), Captured::State::kGone},
                  {{}, Captured::State::kGone},
                  {{}, Captured::State::kGone},
                  {ramp(160)}};
  Microphone mic = microphone(script);
  EXPECT_EQ(read_all(mic).size(), 320u);
  EXPECT_EQ(script.gone.size(), 1u);
  ASSERT_EQ(script.gaps.size(), 1u);
  EXPECT_NEAR(script.gaps[0].length_s, 3, 0.3);
}

TEST(Microphone, EachStretchIsResampledOnItsOwnAtTheRateThatTheDeviceHasThen) {
  Script script;
  script.format.sample_rate_hz = 48000;
  script.steps = {{ramp(4800)}, {{}, Captured::State::kOverrun}, {ramp(4801, 0.1F)}};
  Microphone mic = microphone(script);
  std::vector<float> expected = resampled(ramp(4800), 48000, 16000);
  const std::vector<float> behind = resampled(ramp(4801, 0.1F), 48000, 16000);
  expected.insert(expected.end(), behind.begin(), behind.end());
  EXPECT_EQ(read_all(mic), expected);
  EXPECT_TRUE(script.gone.empty());
  ASSERT_EQ(script.gaps.size(), 1u);
  EXPECT_FALSE(script.gaps[0].was_away);
  EXPECT_DOUBLE_EQ(script.gaps[0].at_s, 0.1);
}

TEST(Microphone, AnotherRateAfterTheGapIsFollowed) {
  Script script;
  script.steps = {{ramp(1600), Captured::State::kGone}, {ramp(4800)}};
  Microphone mic = microphone(script);
  script.format.sample_rate_hz = 48000;
  std::vector<float> expected = ramp(1600);
  const std::vector<float> behind = resampled(ramp(4800), 48000, 16000);
  expected.insert(expected.end(), behind.begin(), behind.end());
  EXPECT_EQ(read_all(mic), expected);
}

TEST(Microphone, AnEndWhileTheDeviceIsAwayTellsTheGap) {
  Script script;
  script.steps = {{ramp(1600), Captured::State::kGone}};
  script.refuses = 1000;
  Microphone mic = microphone(script);
  std::vector<float> block(1600);
  std::size_t heard = 0;
  while (heard < 1600) heard += mic.read(block);
  script.end = true;
  EXPECT_EQ(mic.read(block), 0u);
  EXPECT_EQ(mic.read(block), 0u);
  EXPECT_EQ(script.gaps.size(), script.gone.size());
}

TEST(Microphone, AnEndGivesWhatTheDeviceHolds) {
  Script script;
  script.steps = {{ramp(160)}, {ramp(160)}};
  Microphone mic = microphone(script);
  std::vector<float> block(1600);
  EXPECT_EQ(mic.read(block), 160u);
  script.end = true;
  EXPECT_EQ(mic.read(block), 160u);
  EXPECT_EQ(mic.read(block), 0u);
}

TEST(Microphone, SamplesThatAreNoNumbersAreZeroAndNoted) {
  Script script;
  script.steps = {
      {{0.5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}}};
  Microphone mic = microphone(script);
  EXPECT_EQ(read_all(mic), (std::vector<float>{0.5F, 0, 0}));
  ASSERT_EQ(mic.notes().size(), 1u);
  EXPECT_STREQ(mic.notes()[0].code, "audio_not_finite");
}

}  // namespace
}  // namespace verbatim
