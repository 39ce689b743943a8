// Every named tensor of the dense Voxtral fixtures, within the fixtures' own tolerances; the ids of
// every step; the text; other delays; the end token.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/parity/golden.h"

namespace verbatim {
namespace {

constexpr const char* kFolder = "tests/golden/voxtral-realtime/";

EngineOptions options_for(const std::string& folder, Tap* tap) {
  EngineOptions made;
  made.model = folder;
  made.kv = "f32";
  made.threads = 2;
  made.own_thread = false;
  made.tap = tap;
  return made;
}

std::vector<std::int64_t> integers(const boost::json::value& list) {
  std::vector<std::int64_t> values;
  for (const boost::json::value& each : list.as_array())
    values.push_back(each.to_number<std::int64_t>());
  return values;
}

// The fixtures' rule: the log-mel within 1e-4, everything else within a share of its largest value.
// What is measured in another way (bf16.*), before the delay's factor (norm2_unscaled) or for
// another delay is left out.
std::map<std::string, double> allowed(const GoldenFile& golden, const boost::json::value& facts) {
  const double mel = facts.at("tolerances").at("mel").at("max_abs").to_number<double>();
  const double share =
      facts.at("tolerances").at("from_pcm").at("max_abs_over_largest_value").to_number<double>();
  std::map<std::string, double> limits;
  for (const RawTensor& raw : golden.tensors()) {
    if (raw.name.starts_with("bf16.") || raw.name.starts_with("delay.") ||
        raw.name.ends_with("norm2_unscaled"))
      continue;
    double largest = 0;
    for (const float value : golden_floats(raw))
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    limits[raw.name] = raw.name == "mel" ? mel : raw.name == "padded" ? 0 : share * largest;
  }
  return limits;
}

std::string stripped(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  const auto first = std::find_if_not(text.begin(), text.end(), is_space);
  return {first, text.end()};
}

std::string text_of(const boost::json::value& value) {
  return {value.as_string().data(), value.as_string().size()};
}

struct Fixture {
  explicit Fixture(const std::string& name)
      : folder(std::string(kFolder) + name),
        facts(golden_json(folder + "/expected.json")),
        golden(folder + "/expected.safetensors"),
        clip(read_clip(folder + "/input.wav", 16000)) {}
  // The golden logits begin at a row of their own, ours at the first decision.
  std::map<std::string, GoldenStart> logits() const {
    const auto golden_first = facts.at("first_logits_row").to_number<std::int64_t>();
    const auto first = facts.at("first_decision").to_number<std::int64_t>();
    return {{"logits",
             {std::max<std::int64_t>(0, first - golden_first), std::max(first, golden_first)}}};
  }
  std::string folder;
  boost::json::value facts;
  GoldenFile golden;
  std::vector<float> clip;
};

class VoxtralParity : public testing::TestWithParam<const char*> {};

TEST_P(VoxtralParity, EveryNamedTensorEqualsTheReference) {
  const Fixture fixture(GetParam());
  CompareTap tap(fixture.golden, allowed(fixture.golden, fixture.facts), fixture.logits());
  Engine engine(options_for(fixture.folder, &tap));
  const Transcript transcript = transcribe(engine, {}, fixture.clip);

  EXPECT_EQ(tap.first_divergence(), "");
  EXPECT_EQ(tap.missing(), std::vector<std::string>{});
  EXPECT_EQ(tap.tokens(), integers(fixture.facts.at("ids")));
  EXPECT_EQ(transcript.text, stripped(text_of(fixture.facts.at("text"))));
  EXPECT_EQ(transcript.usage.prompt_tokens,
            static_cast<std::int64_t>(fixture.facts.at("prompt").as_array().size()));
  std::printf("%s: largest difference is %.2f of what is allowed\n", GetParam(), tap.worst_share());
}

TEST_P(VoxtralParity, HalfPrecisionCachesChangeNoToken) {
  const Fixture fixture(GetParam());
  CompareTap tap(fixture.golden, {});
  EngineOptions made = options_for(fixture.folder, &tap);
  made.kv = "f16";
  Engine engine(made);
  transcribe(engine, {}, fixture.clip);
  EXPECT_EQ(tap.tokens(), integers(fixture.facts.at("ids")));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, VoxtralParity,
                         testing::Values("hub-bf16", "hf-f32", "windows-mistral-bf16",
                                         "window750-mistral-bf16", "delay-eos-hf-bf16",
                                         "heads-mistral-bf16", "untied-quantized-hf-bf16"));

// The same weights in the other layout: rows of q and k stand in another order, scores do not.
TEST(VoxtralLayouts, TheFilesOfTransformersGiveTheSameTensors) {
  const Fixture fixture("hub-bf16");
  const std::string folder = testing::TempDir() + "voxtral-hub-hf";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* file : {"config.json", "model.safetensors", "processor_config.json",
                           "generation_config.json", "tekken.json"})
    std::filesystem::copy(fixture.folder + "/" + file, folder + "/" + file);
  std::map<std::string, double> limits = allowed(fixture.golden, fixture.facts);
  for (const char* permuted : {"q", "k", "q_rope", "k_rope"}) {
    limits.erase(std::string("enc.0.") + permuted);
    limits.erase(std::string("dec.0.") + permuted);
  }
  CompareTap tap(fixture.golden, limits, fixture.logits());
  Engine engine(options_for(folder, &tap));
  transcribe(engine, {}, fixture.clip);
  EXPECT_EQ(tap.first_divergence(), "");
  EXPECT_EQ(tap.missing(), std::vector<std::string>{});
  EXPECT_EQ(tap.tokens(), integers(fixture.facts.at("ids")));
  std::filesystem::remove_all(folder);
}

TEST(VoxtralDelays, EveryDelayEqualsTheReference) {
  const Fixture fixture("delay-eos-hf-bf16");
  for (const auto& [tokens, about] : fixture.facts.at("delays").as_object()) {
    const std::string front = "delay." + std::string(tokens) + ".";
    // The golden file names the delay first.
    class DelayTap final : public Tap {
     public:
      std::map<std::string, std::vector<float>> seen;
      std::vector<std::int64_t> ids;
      bool wants(std::string_view at) const override {
        return at == "logits" || at == "t_cond" || at.starts_with("scale.") || at == "token";
      }
      void see(std::string_view at, const Tensor& rows, const Spans&) override {
        if (at == "token") {
          ids.push_back(rows.row<const std::int32_t>(0)[0]);
          return;
        }
        std::vector<float>& to = seen[std::string(at)];
        for (std::int64_t r = 0; r < rows.rows; ++r) {
          const auto row = rows.row<const float>(r);
          to.insert(to.end(), row.begin(), row.end());
        }
      }
    } tap;
    Engine engine(options_for(fixture.folder, &tap));
    SessionOptions ask;
    ask.delay_ms = 80 * std::stoi(std::string(tokens));
    const Transcript transcript = transcribe(engine, ask, fixture.clip);
    EXPECT_EQ(tap.ids, integers(about.at("ids"))) << tokens;
    EXPECT_EQ(transcript.text, stripped(text_of(about.at("text")))) << tokens;
    for (const auto& [name, values] : tap.seen) {
      const RawTensor* raw = fixture.golden.find(front + name);
      ASSERT_NE(raw, nullptr) << front << name;
      const std::vector<float> wanted = golden_floats(*raw);
      ASSERT_EQ(values.size(), wanted.size()) << front << name;
      double largest = 0;
      for (const float value : wanted)
        largest = std::max(largest, std::abs(static_cast<double>(value)));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], wanted[i], 5e-5 * largest) << front << name << " at " << i;
    }
  }
}

TEST(VoxtralEos, TheEndTokenEndsASessionOnlyWhereThatIsAskedFor) {
  const Fixture fixture("delay-eos-hf-bf16");
  CompareTap tap(fixture.golden, {});
  Engine engine(options_for(fixture.folder, &tap));
  SessionOptions ask;
  ask.stop_at_eos = true;
  const Transcript transcript = transcribe(engine, ask, fixture.clip);
  EXPECT_EQ(tap.tokens(), integers(fixture.facts.at("offline_ids")));
  EXPECT_EQ(transcript.text, stripped(text_of(fixture.facts.at("offline_text"))));
  ASSERT_EQ(transcript.warnings.size(), 1U);
  EXPECT_STREQ(transcript.warnings[0].code, "eos");
}

}  // namespace
}  // namespace verbatim
