// From a recording to statistics to a smoothed model.
#include "engine/calibrate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/small_engine.h"

namespace verbatim {
namespace {

struct Nano {
  const char* folder;
  const char* clip;
  std::int32_t rate;
};
constexpr Nano kVibeVoice{kNanoFolder, "nato-slt.wav", 24000};
constexpr Nano kVoxtral{"models/voxtral-realtime-nano", "s5_espeak_steph.wav", 16000};

std::vector<float> clip_of(const Nano& nano) {
  return read_clip(std::string(nano.folder) + "/samples/" + nano.clip, nano.rate);
}

EngineOptions options_of(const Nano& nano, const char* quant) {
  EngineOptions options = small_options(nano.folder);
  options.max_context = 0;
  options.expected_audio_s = 10;
  options.quant.decoder = options.quant.encoder = weight_choice("--quant", quant);
  return options;
}

std::string text_of(Engine& engine, const std::vector<float>& clip) {
  Client client(engine.open("", {}, 10), clip);
  run(engine);
  client.listen();
  return client.transcript().text;
}

std::vector<SeenInput> inputs_of(const Nano& nano, int threads = 1) {
  EngineOptions options = options_of(nano, "none");
  options.threads = threads;
  options.ranges = true;
  Engine engine(options);
  text_of(engine, clip_of(nano));
  return engine.inputs();
}

class Calibrated : public testing::TestWithParam<Nano> {
 protected:
  Calibrated() : seen_(inputs_of(GetParam())), path_(folder_.path("stats.safetensors")) {
    write_statistics(path_, seen_);
  }
  std::vector<SeenInput> seen_;
  ScratchFolder folder_;
  std::string path_;
};

TEST_P(Calibrated, NoWeightLosesMoreWithItsStatisticsThanWithout) {
  for (const char* quant : {"w8a8", "8da4w"}) {
    const std::vector<WeightError> errors =
        weight_errors(options_of(GetParam(), quant), path_, seen_);
    EXPECT_GE(errors.size(), 28U);
    std::size_t gained = 0;
    for (const WeightError& error : errors) {
      EXPECT_EQ(error.format, quant);
      EXPECT_GT(error.plain, 1e-3) << error.name;
      // Measured over all samples: at worst as much, at best 0.45 of it.
      EXPECT_LT(error.smoothed, 1.02 * error.plain) << error.name;
      if (error.smoothed < 0.95 * error.plain) ++gained;
    }
    // So short a clip shows VibeVoice no outliers, and in four bits the weights' step is what
    // counts.
    const bool gains = GetParam().rate == kVoxtral.rate && quant == std::string("w8a8");
    EXPECT_GE(gained, gains ? 1U : 0U);
  }
}

TEST_P(Calibrated, ASmoothedModelHearsTheSameWords) {
  EngineOptions options = options_of(GetParam(), "none");
  Engine dense(options);
  options = options_of(GetParam(), "w8a8");
  options.calibration = path_;
  Engine smoothed(options);
  const std::vector<float> clip = clip_of(GetParam());
  EXPECT_EQ(text_of(smoothed, clip), text_of(dense, clip));
}

TEST_P(Calibrated, ThreadsChangeNoStatistics) {
  const std::vector<SeenInput> again = inputs_of(GetParam(), 3);
  ASSERT_EQ(again.size(), seen_.size());
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    EXPECT_EQ(again[i].names, seen_[i].names);
    EXPECT_EQ(again[i].largest, seen_[i].largest);
    EXPECT_EQ(again[i].rows, seen_[i].rows);
  }
}

TEST_P(Calibrated, StatisticsOfAnotherModelAndOfNoUseAreRefused) {
  const Nano& other = GetParam().rate == kVoxtral.rate ? kVibeVoice : kVoxtral;
  EngineOptions options = options_of(other, "w8a8");
  options.calibration = path_;
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { const Engine engine(options); })
                .rfind(path_ + ": statistics of another model: ", 0),
            0U);
  options = options_of(GetParam(), "int8");
  options.calibration = path_;
  EXPECT_EQ(message_of(Code::kInvalidArgument, [&] { const Engine engine(options); })
                .rfind("--calib " + path_ + ": expected a --quant", 0),
            0U);
}

INSTANTIATE_TEST_SUITE_P(Nanos, Calibrated, testing::Values(kVibeVoice, kVoxtral),
                         [](const testing::TestParamInfo<Nano>& nano) {
                           return nano.param.rate == kVoxtral.rate ? "Voxtral" : "VibeVoice";
                         });

TEST(Calibrate, WhatTheRecordingsNeverReachedIsNoStatistics) {
  std::vector<SeenInput> seen = inputs_of(kVibeVoice);
  seen.pop_back();
  EXPECT_NE(
      message_of(Code::kCorrupt, [&] { weight_errors(options_of(kVibeVoice, "w8a8"), "s", seen); })
          .find("s: statistics of another model: it has none of "),
      std::string::npos);
}

}  // namespace
}  // namespace verbatim
