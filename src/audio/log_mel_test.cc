// The spectrogram against the reference's (tests/golden/voxtral-frontend), against its definition
// in other shapes, and against itself in other blocks.
#include "audio/log_mel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/math.h"

namespace verbatim {
namespace {

constexpr const char* kFolder = "tests/golden/voxtral-frontend/";
constexpr std::size_t kMels = 128;
constexpr float kSilence = -0.625F;

// The tensors of expected.safetensors.
class Golden {
 public:
  Golden() {
    const std::string path = std::string(kFolder) + "expected.safetensors";
    bytes_ = read_file(path, 1 << 20);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes_.data(), sizeof header_bytes);
    header_ = parse_json(std::string_view(bytes_).substr(8, header_bytes), path);
    data_ = 8 + header_bytes;
  }

  std::vector<float> floats(const std::string& name) const {
    const boost::json::array& range = header_.at(name).at("data_offsets").as_array();
    const auto begin = range.at(0).to_number<std::size_t>();
    const auto end = range.at(1).to_number<std::size_t>();
    std::vector<float> values((end - begin) / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data() + data_ + begin, end - begin);
    return values;
  }

 private:
  std::string bytes_;
  boost::json::value header_;
  std::size_t data_ = 0;
};

std::vector<float> sine(std::size_t size) {  // signal A
  std::vector<float> samples(size);
  for (std::size_t n = 0; n < size; ++n)
    samples[n] = static_cast<float>(
        0.5 * math_sin(2 * std::numbers::pi * 440 * static_cast<double>(n) / 16000));
  return samples;
}

std::vector<float> noise(std::size_t size) {  // signal B
  std::vector<float> samples(size);
  std::uint32_t state = 1;
  for (float& sample : samples) {
    state = (1103515245U * state + 12345U) & 0x7fffffffU;
    sample = static_cast<float>(0.2 * (((state >> 16) & 32767U) / 32768.0 - 0.5));
  }
  return samples;
}

// As mistral_common pads a clip for a delay of six tokens.
std::vector<float> padded(const std::vector<float>& clip) {
  constexpr std::size_t kUnit = 1280;
  const std::size_t right = (kUnit - clip.size() % kUnit) % kUnit + 17 * kUnit;
  std::vector<float> samples(32 * kUnit, 0.0F);
  samples.insert(samples.end(), clip.begin(), clip.end());
  samples.resize(samples.size() + right, 0.0F);
  return samples;
}

std::vector<float> spectrogram(std::span<const float> samples, std::size_t block,
                               const LogMelConfig& config = {}) {
  LogMel log_mel(config);
  std::vector<float> mel;
  for (std::size_t at = 0; at < samples.size(); at += block)
    log_mel.push(samples.subspan(at, std::min(block, samples.size() - at)), mel);
  log_mel.finish(mel);
  log_mel.finish(mel);  // says nothing new
  EXPECT_EQ(mel.size(), static_cast<std::size_t>(log_mel.frames() * config.num_mel_bins));
  return mel;
}

std::vector<float> spectrogram(const std::vector<float>& samples) {
  return spectrogram(samples, std::max<std::size_t>(samples.size(), 1));
}

TEST(LogMel, FiltersAreTheReferences) {
  const std::vector<float> filters = mel_filters({});
  const std::vector<float> golden = Golden().floats("filters");
  ASSERT_EQ(filters.size(), golden.size());
  EXPECT_EQ(std::count_if(filters.begin(), filters.end(), [](float w) { return w != 0; }), 394);
  double sum = 0;
  for (std::size_t at = 0; at < golden.size(); ++at) {
    sum += static_cast<double>(filters[at]);
    // One unit in the last place for the other logarithm and exponential.
    EXPECT_GE(filters[at], std::nextafter(golden[at], 0.0F)) << at;
    EXPECT_LE(filters[at], golden[at] == 0 ? 0 : std::nextafter(golden[at], 1.0F)) << at;
  }
  EXPECT_NEAR(sum, 3.190985528540699, 1e-8);
}

TEST(LogMel, SpectrogramsAreTheReferences) {
  const Golden golden;
  const std::string path = std::string(kFolder) + "expected.json";
  const boost::json::value expected = parse_json(read_file(path, 1 << 20), path);
  ASSERT_EQ(expected.at("cases").as_object().size(), 8U);
  for (const auto& [key, facts] : expected.at("cases").as_object()) {
    const std::string name = key;
    const std::vector<float> clip = golden.floats("pcm." + name);
    const std::vector<float> reference = golden.floats("mel." + name);
    const auto frames = facts.at("mel_frames").to_number<std::size_t>();
    const std::size_t first = kMels * facts.at("first_frame").to_number<std::size_t>();
    const std::vector<float> mel = spectrogram(padded(clip));
    ASSERT_EQ(mel.size(), frames * kMels) << name;
    ASSERT_LE(first + reference.size(), mel.size()) << name;
    double largest = 0;
    double sum = 0;
    for (std::size_t at = 0; at < mel.size(); ++at) {
      if (at < first || at >= first + reference.size()) {
        ASSERT_EQ(mel[at], kSilence) << name << " frame " << at / kMels;
        continue;
      }
      const double error =
          std::abs(static_cast<double>(mel[at]) - static_cast<double>(reference[at - first]));
      if (!(error <= largest)) largest = error;
      sum += error;
    }
    const std::size_t count = std::max<std::size_t>(reference.size(), 1);
    EXPECT_LE(largest, 1e-4) << name;
    EXPECT_LE(sum / static_cast<double>(count), 1e-6) << name;
  }
}

// Mels 0, 1, 5, 10, 20, 40, 64, 100, 127 of a frame and the mean of all 128, to five digits.
struct Row {
  std::size_t frame;
  std::array<double, 10> mels;
};

void expect_rows(const std::vector<float>& mel, std::span<const Row> rows) {
  constexpr std::array<std::size_t, 9> kColumns{0, 1, 5, 10, 20, 40, 64, 100, 127};
  for (const Row& row : rows) {
    const float* frame = mel.data() + row.frame * kMels;
    for (std::size_t column = 0; column < kColumns.size(); ++column)
      EXPECT_NEAR(static_cast<double>(frame[kColumns[column]]), row.mels[column], 6e-6)
          << "frame " << row.frame << " mel " << kColumns[column];
    double sum = 0;
    for (std::size_t at = 0; at < kMels; ++at) sum += static_cast<double>(frame[at]);
    EXPECT_NEAR(sum / kMels, row.mels[9], 6e-6) << "frame " << row.frame;
  }
}

TEST(LogMel, ASineIsAsInDoublePrecision) {
  constexpr std::array<double, 10> kSteady{-0.62500, -0.62500, -0.62500, -0.62500, 1.28739,
                                           -0.62500, -0.62500, -0.62500, -0.62500, -0.54801};
  const std::array<Row, 6> rows{{
      {255,
       {0.24500, 0.34256, 0.26083, 0.27857, 0.33289, 0.08431, -0.24514, -0.59509, -0.62500,
        -0.19041}},
      {256,
       {0.75700, 0.85457, 0.77911, 0.83530, 1.23569, 0.59669, 0.26316, -0.08551, -0.23268,
        0.33454}},
      {257,
       {0.24500, 0.34256, 0.26083, 0.27857, 1.28948, 0.08431, -0.24514, -0.59509, -0.62500,
        -0.15128}},
      {258, kSteady},
      {300, kSteady},
      {354, kSteady},
  }};
  expect_rows(spectrogram(padded(sine(16000))), rows);
}

TEST(LogMel, NoiseIsAsInDoublePrecision) {
  const std::array<Row, 6> rows{{
      {255,
       {-0.51684, -0.41928, -0.43682, -0.37930, -0.29962, -0.28346, -0.26782, -0.30817, -0.19755,
        -0.33390}},
      {256,
       {0.20775, 0.30531, 0.44764, 0.49539, 0.47048, 0.56215, 0.45512, 0.52536, 0.47626, 0.40630}},
      {257,
       {0.42028, 0.51784, 0.44241, 0.23349, 0.68211, 0.39972, 0.54848, 0.46509, 0.49974, 0.47719}},
      {300,
       {0.07192, 0.16948, 0.43851, 0.47917, 0.58124, 0.28451, 0.47874, 0.57555, 0.55439, 0.48037}},
      {354,
       {0.61654, 0.71411, 0.49074, 0.51240, 0.50058, 0.56722, 0.48223, 0.41149, 0.55855, 0.50761}},
      {357,
       {-0.51586, -0.41830, -0.50602, -0.49785, -0.46425, -0.59326, -0.28153, -0.34257, -0.62500,
        -0.42080}},
  }};
  expect_rows(spectrogram(padded(noise(16000))), rows);
}

TEST(LogMel, EdgesAreReflected) {
  const std::vector<float> mel = spectrogram(noise(16000));
  ASSERT_EQ(mel.size(), 100 * kMels);
  const auto mean = [&](std::size_t frame) {
    double sum = 0;
    for (std::size_t at = 0; at < kMels; ++at) sum += static_cast<double>(mel[frame * kMels + at]);
    return sum / kMels;
  };
  EXPECT_NEAR(static_cast<double>(mel[0]), 0.32067, 6e-6);
  EXPECT_NEAR(static_cast<double>(mel[5]), 0.35035, 6e-6);
  EXPECT_NEAR(static_cast<double>(mel[20]), 0.18919, 6e-6);
  EXPECT_NEAR(static_cast<double>(mel[64]), 0.59156, 6e-6);
  EXPECT_NEAR(static_cast<double>(mel[127]), 0.56272, 6e-6);
  EXPECT_NEAR(mean(0), 0.44426, 6e-6);
  EXPECT_NEAR(mean(1), 0.47739, 6e-6);
  EXPECT_NEAR(mean(99), 0.49180, 6e-6);
}

// As _torch_extract_fbank_features says it, in double and by the definition of the transform.
std::vector<double> by_definition(const std::vector<float>& samples, const LogMelConfig& config) {
  const std::int64_t window = config.window_size;
  const std::int64_t half = window / 2;
  const auto length = static_cast<std::int64_t>(samples.size());
  std::vector<double> wide;
  for (std::int64_t at = -half; at < length + half; ++at) {
    const std::int64_t inside = at < 0 ? -at : at >= length ? 2 * (length - 1) - at : at;
    wide.push_back(static_cast<double>(samples.at(static_cast<std::size_t>(inside))));
  }
  const std::int64_t frames = 1 + (length + 2 * half - window) / config.hop_length;
  const std::vector<float> filters = mel_filters(config);
  std::vector<double> mel;
  for (std::int64_t frame = 0; frame + 1 < frames; ++frame) {
    std::vector<double> sums(static_cast<std::size_t>(config.num_mel_bins), 0.0);
    for (std::int64_t bin = 0; bin <= half; ++bin) {
      double re = 0;
      double im = 0;
      for (std::int64_t at = 0; at < window; ++at) {
        const double turn = 2 * std::numbers::pi / static_cast<double>(window);
        const double hann = 0.5 - 0.5 * std::cos(turn * static_cast<double>(at));
        const double x = wide.at(static_cast<std::size_t>(frame * config.hop_length + at)) * hann;
        const double angle = turn * static_cast<double>(at * bin % window);
        re += x * std::cos(angle);
        im -= x * std::sin(angle);
      }
      for (std::size_t at = 0; at < sums.size(); ++at)
        sums[at] += (re * re + im * im) *
                    static_cast<double>(filters[static_cast<std::size_t>(bin) * sums.size() + at]);
    }
    for (const double sum : sums)
      mel.push_back(
          (std::max(std::log10(std::max(sum, 1e-10)), config.global_log_mel_max - 8) + 4) / 4);
  }
  return mel;
}

// {rate, mels, hop, window, maximum}: half a window below, at and above the hop, odd windows, hops
// beyond the window, large prime factors, a floor at and below 1e-10, edges that meet.
constexpr std::array<LogMelConfig, 9> kShapes{{
    {16000, 128, 160, 400, 1.5},
    {16000, 80, 200, 400, 1.5},
    {16000, 20, 300, 400, 1.5},
    {16000, 40, 100, 401, 1.5},
    {24000, 16, 1, 26, 1.5},
    {8000, 12, 100, 32, 0},
    {16000, 128, 256, 1024, -2},
    {16000, 24, 7, 62, -6},
    {16000, 4, 3, 3, 1.5},
}};

TEST(LogMel, OtherShapesAreTheDefinition) {
  for (const LogMelConfig& config : kShapes) {
    const auto window = static_cast<std::size_t>(config.window_size);
    for (const std::size_t size : {window / 2 + 1, window, 3 * window + 5, std::size_t{1601}}) {
      if (size > 2000 || (size > 100 && config.hop_length < 10)) continue;
      const std::vector<float> samples = noise(size);
      const std::vector<float> mel = spectrogram(samples, size, config);
      const std::vector<double> expected = by_definition(samples, config);
      ASSERT_EQ(mel.size(), expected.size()) << "window " << window << " samples " << size;
      for (std::size_t at = 0; at < mel.size(); ++at)
        ASSERT_NEAR(static_cast<double>(mel[at]), expected[at], 1e-6)
            << "window " << window << " samples " << size << " at " << at;
    }
  }
}

TEST(LogMel, BlockSizesChangeNoBit) {
  for (const std::size_t size : {0, 1, 1279, 1280, 1281, 16000}) {
    const std::vector<float> samples = padded(noise(size));
    const std::vector<float> whole = spectrogram(samples);
    for (const std::size_t block : {1, 7, 160, 1000, 1280, 4096})
      EXPECT_EQ(spectrogram(samples, block), whole) << size << " samples in blocks of " << block;
  }
}

TEST(LogMel, BlockSizesChangeNoBitInOtherShapes) {
  for (const LogMelConfig& config : kShapes)
    for (const std::size_t size : {0, 1, 2, 159, 160, 200, 201, 399, 400, 801, 6007}) {
      const std::vector<float> samples = noise(size);
      const std::vector<float> whole = spectrogram(samples, size + 1, config);
      for (const std::size_t block : {1, 7, 160, 1000})
        EXPECT_EQ(spectrogram(samples, block, config), whole)
            << "window " << config.window_size << " hop " << config.hop_length << ", " << size
            << " samples in blocks of " << block;
    }
}

TEST(LogMel, FramesAreWholeHops) {
  for (const std::size_t size : {0, 1, 159, 160, 161, 200, 201, 319, 320, 16000, 16159})
    EXPECT_EQ(spectrogram(noise(size)).size(), size / 160 * kMels) << size;
}

TEST(LogMel, AFrameComesWithItsLastSample) {
  const std::vector<float> samples = noise(3000);
  LogMel log_mel({});
  std::vector<float> mel;
  for (std::size_t at = 0; at < samples.size(); ++at) {
    log_mel.push({&samples[at], 1}, mel);
    const std::size_t pushed = at + 1;
    const std::size_t frames = pushed <= 200 ? 0 : (pushed - 200) / 160 + 1;
    ASSERT_EQ(static_cast<std::size_t>(log_mel.frames()), frames) << pushed;
    ASSERT_EQ(mel.size(), frames * kMels) << pushed;
  }
}

// Padding ends in zeros, so that a stream need not know where it ends: 40 more are the same edge.
TEST(LogMel, FortyZerosAreTheRightEdgeOfSilence) {
  std::vector<float> samples = padded(noise(5011));
  const std::vector<float> whole = spectrogram(samples);
  samples.resize(samples.size() + 40, 0.0F);
  LogMel log_mel({});
  std::vector<float> mel;
  log_mel.push(samples, mel);
  EXPECT_EQ(mel, whole);
}

TEST(LogMel, WhatWasThereStays) {
  std::vector<float> mel{1, 2, 3};
  LogMel log_mel({});
  log_mel.push(noise(400), mel);
  ASSERT_EQ(mel.size(), 3 + 2 * kMels);
  EXPECT_EQ(mel[0], 1);
  EXPECT_EQ(mel[2], 3);
}

TEST(LogMel, TheBitsAreThoseOfEveryMachine) {
  std::uint64_t hash = 0;
  for (const float value : spectrogram(noise(16000)))
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3U;
  EXPECT_EQ(hash, 12428805011281840624U);
}

TEST(LogMel, AShapeOutOfRangeIsRefusedByName) {
  const auto refusal = [](const std::function<void(LogMelConfig&)>& change) {
    LogMelConfig config;
    change(config);
    try {
      const LogMel log_mel(config);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnsupported);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](LogMelConfig& config) { config.hop_length = 0; }),
            "audio_encoding_args.hop_length: found 0, expected 1 to 65536");
  EXPECT_EQ(refusal([](LogMelConfig& config) { config.window_size = 1; }),
            "audio_encoding_args.window_size: found 1, expected 2 to 16384");
  EXPECT_EQ(refusal([](LogMelConfig& config) { config.num_mel_bins = -3; }),
            "audio_encoding_args.num_mel_bins: found -3, expected 1 to 4096");
  EXPECT_EQ(refusal([](LogMelConfig& config) { config.sampling_rate = 0; }),
            "audio_encoding_args.sampling_rate: found 0, expected 1 to 768000");
  EXPECT_EQ(refusal([](LogMelConfig& config) { config.global_log_mel_max = std::nan(""); }),
            "audio_encoding_args.global_log_mel_max: found nan, expected a number");
}

}  // namespace
}  // namespace verbatim
