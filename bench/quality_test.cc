// What formats made at load cost the nanos: words, and decisions under the past of the weights as
// they are stored. Limits are what was measured over these recordings, divergences twice that.
#include "bench/quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

constexpr const char* kVibeVoice = "models/vibevoice-asr-nano";
constexpr const char* kVoxtral = "models/voxtral-realtime-nano";

std::vector<std::string> words(std::initializer_list<const char*> from) {
  return {from.begin(), from.end()};
}

EngineOptions options(const char* model) {
  EngineOptions made;
  made.model = model;
  made.threads = 2;
  made.pin_threads = false;
  return made;
}

std::vector<std::string> samples(const char* model, std::initializer_list<const char*> names) {
  std::vector<std::string> files;
  for (const char* name : names) files.push_back(std::string(model) + "/samples/" + name + ".wav");
  return files;
}

struct Limit {
  const char* decoder;
  const char* encoder;
  std::int64_t lost;  // words against those of the weights as they are stored
  std::int64_t added;
  std::int64_t differ;  // decisions
  double divergence;    // a decision, in nats
};

void expect_within(const QualityBench& bench, const Limit& limit) {
  Quantization quant;
  quant.decoder = weight_choice("--quant", limit.decoder);
  quant.encoder = weight_choice("--encoder-quant", limit.encoder);
  const QualityRow row = bench.run(quant);
  SCOPED_TRACE(row.text());
  std::printf("%-24s lost %lld, added %lld, %lld of %lld decisions, divergence %.2e\n",
              row.text().c_str(), static_cast<long long>(row.dense.lost()),
              static_cast<long long>(row.dense.added()),
              static_cast<long long>(row.agreement.decisions - row.agreement.same),
              static_cast<long long>(row.agreement.decisions), row.agreement.mean_divergence());
  EXPECT_LE(row.dense.lost(), limit.lost);
  EXPECT_LE(row.dense.added(), limit.added);
  EXPECT_LE(row.agreement.decisions - row.agreement.same, limit.differ);
  EXPECT_LT(row.agreement.mean_divergence(), limit.divergence);
  // A format that changes nothing was not made.
  EXPECT_GT(row.agreement.divergence, 0);
  EXPECT_LT(row.weights_bytes, bench.stored().weights_bytes);
}

TEST(Quality, VibeVoiceStaysWithinWhatWasMeasured) {
  const QualityBench bench(options(kVibeVoice),
                           samples(kVibeVoice, {"digits-jackson", "nato-slt", "two-speakers"}));
  for (const Limit& limit : {
           Limit{"nf4", "", 0, 0, 1, 1.1e-2},
           Limit{"int4", "", 0, 0, 3, 2.5e-2},
           Limit{"int4:32", "", 0, 0, 1, 1.2e-2},
           Limit{"int8", "", 0, 0, 0, 1.1e-4},
           Limit{"w8a8", "", 0, 0, 0, 2.1e-4},
           Limit{"w4a8", "", 0, 0, 3, 2.5e-2},
           Limit{"none", "w8a8", 0, 0, 0, 8.1e-5},
           Limit{"w4a8", "w8a8", 0, 0, 3, 2.4e-2},
       }) {
    expect_within(bench, limit);
  }
}

TEST(Quality, VoxtralStaysWithinWhatWasMeasured) {
  const QualityBench bench(options(kVoxtral),
                           samples(kVoxtral, {"s1_fsdd_takes", "s5_espeak_steph", "s7_mixed"}));
  for (const Limit& limit : {
           Limit{"nf4", "", 0, 0, 0, 1.5e-3},
           Limit{"int4", "", 0, 0, 0, 2.3e-3},
           Limit{"int4:32", "", 0, 0, 0, 1.8e-3},
           Limit{"int8", "", 0, 0, 0, 3.5e-6},
           Limit{"w8a8", "", 0, 0, 0, 1.6e-5},
           Limit{"w4a8", "", 1, 0, 1, 2.8e-3},
           Limit{"none", "w8a8", 0, 0, 0, 1.1e-4},
           Limit{"w4a8", "w8a8", 0, 0, 0, 1.5e-3},
       }) {
    expect_within(bench, limit);
  }
}

TEST(Quality, TheWeightsAsTheyAreStoredAgreeWithThemselves) {
  const QualityBench bench(options(kVoxtral), samples(kVoxtral, {"s1_fsdd_takes"}));
  EXPECT_EQ(bench.stored().agreement.share(), 1);
  EXPECT_LT(std::abs(bench.stored().agreement.divergence), 1e-9);
  EXPECT_EQ(bench.stored().truth.expected, 3);
  EXPECT_TRUE(bench.stored().truth.errors.empty());
  EXPECT_TRUE(bench.stored().dense.errors.empty());
}

TEST(Quality, EveryNextRowIsMadeOfTheOtherRunsToken) {
  QualityModel model(options(kVoxtral));
  const QualityClip clip =
      read_quality_clip(samples(kVoxtral, {"s1_fsdd_takes"})[0], model.sample_rate_hz());
  Spoken spoken = model.speak(clip.pcm);
  EXPECT_EQ(spoken.words, words({"six", "five", "four"}));
  const Agreement own = model.follow(clip.pcm, spoken.decisions);
  EXPECT_EQ(own.same, own.decisions);
  spoken.decisions[2].token = spoken.decisions[2].tokens[1];
  const Agreement other = model.follow(clip.pcm, spoken.decisions);
  EXPECT_LT(other.same, other.decisions);
  // The decisions before it and its own are as sure as they were; those behind it are not.
  EXPECT_GT(other.divergence, own.divergence + 1e-9);
}

TEST(SpokenWords, AreSmallAndWithoutPunctuation) {
  EXPECT_EQ(spoken_words(" Don't stop, MUSIC... twenty-one!"),
            words({"don't", "stop", "music", "twenty", "one"}));
  EXPECT_EQ(spoken_words("\u4f60\u597d\uff0c ok"), words({"\u4f60", "\u597d", "ok"}));
  EXPECT_TRUE(spoken_words(" ... ").empty());
}

TEST(WordErrors, AreAsFewAsPossible) {
  const auto expected = words({"one", "two", "three", "four"});
  const WordErrors found = word_errors(expected, words({"zero", "one", "two", "tree"}));
  ASSERT_EQ(found.errors.size(), 3U);
  EXPECT_EQ(found.expected, 4);
  EXPECT_EQ(found.lost(), 2);
  EXPECT_EQ(found.added(), 1);
  EXPECT_EQ(found.errors[0].found, "zero");
  EXPECT_EQ(found.errors[0].expected, "");
  EXPECT_TRUE(word_errors(expected, expected).errors.empty());
  EXPECT_EQ(word_errors(expected, {}).lost(), 4);
  EXPECT_EQ(word_errors({}, expected).added(), 4);
}

TEST(QualityClips, WhatIsSaidStandsBesideTheRecording) {
  const auto truth_of = [](const char* model, const char* name) {
    return read_quality_clip(samples(model, {name})[0], 16000).truth.value();
  };
  EXPECT_EQ(truth_of(kVibeVoice, "two-speakers"),
            words({"message", "time", "nine", "four", "goodbye"}));
  EXPECT_EQ(truth_of(kVoxtral, "s1_fsdd_takes"), words({"six", "five", "four"}));
  EXPECT_FALSE(read_quality_clip("tests/data/audio/jfk.wav", 16000).truth.has_value());
  EXPECT_EQ(quality_files(kVibeVoice, {}).size(), 8U);
  const std::string folder = std::string(kVoxtral) + "/samples";
  EXPECT_EQ(quality_files(kVibeVoice, {folder, "one.wav"})[8], "one.wav");
  EXPECT_EQ(quality_files(kVibeVoice, {folder, "one.wav"})[0], folder + "/s1_fsdd_takes.wav");
}

TEST(QualityClips, WhatIsMissingIsNamed) {
  ScratchFolder folder;
  EXPECT_EQ(message_of(Code::kNotFound, [&] { quality_files(folder.path(), {}); }),
            folder.path() + "/samples: holds no recordings");
  std::filesystem::copy_file("tests/data/audio/jfk.wav", folder.path("a.wav"));
  folder.write("a.json", "{}");
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { read_quality_clip(folder.path("a.wav"), 16000); }),
            folder.path("a.json") + ": expected a text, or segments, found neither");
  folder.write("a.json", R"({"segments":[{"start":1}]})");
  EXPECT_NE(message_of(Code::kCorrupt, [&] { read_quality_clip(folder.path("a.wav"), 16000); })
                .find("text"),
            std::string::npos);
}

}  // namespace
}  // namespace verbatim
