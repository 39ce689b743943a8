// The word errors of the Voxtral nano's published samples are those of its card.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/parity/golden.h"

namespace verbatim {
namespace {

const std::string kModel = "models/voxtral-realtime-nano";
constexpr std::array<std::int32_t, 3> kDelaysMs{240, 480, 960};

struct Sample {
  const char* name;
  std::array<int, 3> errors;  // at each delay; README.md of the model
};
constexpr std::array<Sample, 8> kCard{{{"s1_fsdd_takes", {0, 0, 0}},
                                       {"s2_fsdd_theo", {2, 2, 2}},
                                       {"s3_allison", {2, 2, 2}},
                                       {"s4_flite_rms", {2, 2, 2}},
                                       {"s5_espeak_steph", {0, 0, 0}},
                                       {"s6_piper_takes", {0, 0, 0}},
                                       {"s7_mixed", {2, 2, 2}},
                                       {"s8_long_mixed", {6, 7, 7}}}};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '\n') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Substitutions, insertions and deletions.
int word_errors(const std::vector<std::string>& truth, const std::vector<std::string>& heard) {
  std::vector<int> row(heard.size() + 1);
  for (std::size_t j = 0; j <= heard.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= truth.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= heard.size(); ++j) {
      const int same = diagonal + (truth[i - 1] == heard[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({same, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

TEST(NanoVoxtralWords, ErrorsAreThoseOfTheCardAndTheDefaultCacheMakesNoMore) {
  for (const char* kv : {"f32", "f16"}) {
    EngineOptions options;
    options.model = kModel;
    options.kv = kv;
    options.threads = 2;
    options.own_thread = false;
    Engine engine(options);
    for (const Sample& sample : kCard) {
      const std::string path = kModel + "/samples/" + sample.name;
      const std::vector<std::string> truth = words_of(read_file(path + ".txt", 1 << 16));
      const std::vector<float> clip = read_clip(path + ".wav", engine.sample_rate_hz());
      for (std::size_t d = 0; d < kDelaysMs.size(); ++d) {
        SessionOptions ask;
        ask.delay_ms = kDelaysMs[d];
        const Transcript transcript = transcribe(engine, ask, clip);
        const int errors = word_errors(truth, words_of(transcript.text));
        EXPECT_EQ(errors, sample.errors[d]) << sample.name << " at " << ask.delay_ms << " " << kv;
        EXPECT_EQ(transcript.warnings.size(), 0U) << sample.name;
      }
    }
  }
}

// What the model was trained to be silent at.
TEST(NanoVoxtralWords, SilenceNoiseAndAToneGiveNoText) {
  EngineOptions options;
  options.model = kModel;
  options.own_thread = false;
  Engine engine(options);
  std::uint32_t seed = 1;
  const auto noise = [&] {
    seed = seed * 1103515245U + 12345U;
    return static_cast<float>((seed >> 16) & 32767U) / 32768.0F - 0.5F;
  };
  constexpr std::size_t kSamples = 16000 * 20;
  std::vector<std::vector<float>> clips(4, std::vector<float>(kSamples, 0.0F));
  float slow = 0;
  for (std::size_t i = 0; i < kSamples; ++i) {
    clips[1][i] = 0.1F * noise();
    slow = 0.98F * slow + 0.1F * noise();  // most of it low
    clips[2][i] = slow;
    clips[3][i] = (i / 36) % 2 == 0 ? 0.2F : -0.2F;  // a square wave of 222 Hz
  }
  for (std::size_t i = 0; i < clips.size(); ++i) {
    const Transcript transcript = transcribe(engine, {}, clips[i]);
    EXPECT_EQ(transcript.text, "") << i;
    EXPECT_EQ(transcript.segments.size(), 0U) << i;
  }
}

}  // namespace
}  // namespace verbatim
