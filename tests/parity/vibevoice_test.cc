// Every named tensor of the dense VibeVoice fixtures, within the fixtures' own tolerances.
#include <gtest/gtest.h>

#include "models/vibevoice/prompt.h"
#include "tests/parity/golden.h"
#include "text/vocabulary_json.h"

namespace verbatim {
namespace {

constexpr const char* kFolder = "tests/golden/vibevoice-asr/";
constexpr const char* kQwenTokenizer = "models/qwen2.5-tokenizer/tokenizer.json";

class VibeVoiceParity : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return std::string(kFolder) + GetParam(); }
  EngineOptions options(Tap* tap) const {
    EngineOptions made;
    made.model = folder();
    made.fallback_tokenizer = kQwenTokenizer;
    made.kv = "f32";
    made.threads = 2;
    made.own_thread = false;
    made.tap = tap;
    return made;
  }
};

std::map<std::string, double> allowed(const boost::json::object& tolerance) {
  std::map<std::string, double> limits;
  for (const auto& [name, limit] : tolerance) {
    // The caches are not shown: their rows are dec.<i>.k_rope and dec.<i>.v.
    if (name.starts_with("kv.") || name.starts_with("step.top.")) continue;
    limits[std::string(name)] = limit.to_number<double>();
  }
  return limits;
}

std::vector<std::int64_t> integers(const boost::json::value& list) {
  std::vector<std::int64_t> values;
  for (const boost::json::value& each : list.as_array())
    values.push_back(each.to_number<std::int64_t>());
  return values;
}

TEST_P(VibeVoiceParity, EveryNamedTensorEqualsTheReference) {
  const boost::json::value facts = golden_json(folder() + "/expected.json");
  const GoldenFile golden(folder() + "/expected.safetensors");
  CompareTap tap(golden, allowed(facts.at("tolerance").as_object()));
  Engine engine(options(&tap));
  SessionOptions ask;
  ask.context = facts.at("prompt").at("context").as_string().c_str();
  const Transcript transcript =
      transcribe(engine, ask, read_clip(folder() + "/input.wav", engine.sample_rate_hz()));

  EXPECT_EQ(tap.first_divergence(), "");
  EXPECT_EQ(tap.missing(), std::vector<std::string>{});
  EXPECT_EQ(tap.tokens(), integers(facts.at("generated").at("ids")));
  EXPECT_EQ(tap.tokens(), golden_integers(*golden.find("token")));
  EXPECT_EQ(transcript.warnings.size(), 0U);
  EXPECT_EQ(transcript.usage.prompt_tokens,
            static_cast<std::int64_t>(facts.at("prompt").at("ids").as_array().size()));
  std::printf("%s: largest difference is %.2f of what is allowed\n", GetParam(), tap.worst_share());
}

TEST_P(VibeVoiceParity, HalfPrecisionCachesChangeNoToken) {
  const boost::json::value facts = golden_json(folder() + "/expected.json");
  const GoldenFile golden(folder() + "/expected.safetensors");
  CompareTap tap(golden, {});
  EngineOptions made = options(&tap);
  made.kv = "f16";
  Engine engine(made);
  SessionOptions ask;
  ask.context = facts.at("prompt").at("context").as_string().c_str();
  transcribe(engine, ask, read_clip(folder() + "/input.wav", engine.sample_rate_hz()));
  EXPECT_EQ(tap.tokens(), integers(facts.at("generated").at("ids")));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, VibeVoiceParity,
                         testing::Values("hf-f32-taps", "orig-bf16", "hf-segments-context",
                                         "orig-segments", "orig-qwen-bf16", "orig-tied-f16"));

// With the real vocabulary the golden file keeps the 32 best logits of every step.
TEST(VibeVoiceParityOfTheRealVocabulary, TheBestLogitsOfEveryStepEqualTheReference) {
  const std::string folder = std::string(kFolder) + "orig-qwen-bf16";
  const boost::json::value facts = golden_json(folder + "/expected.json");
  const GoldenFile golden(folder + "/expected.safetensors");
  class StepTap final : public Tap {
   public:
    std::vector<std::vector<float>> rows;
    bool wants(std::string_view name) const override { return name == "step.logits"; }
    void see(std::string_view, const Tensor& seen, const Spans&) override {
      const auto row = seen.row<const float>(0);
      rows.emplace_back(row.begin(), row.end());
    }
  } tap;
  EngineOptions options;
  options.model = folder;
  options.fallback_tokenizer = kQwenTokenizer;
  options.kv = "f32";
  options.own_thread = false;
  options.tap = &tap;
  Engine engine(options);
  SessionOptions ask;
  ask.context = facts.at("prompt").at("context").as_string().c_str();
  transcribe(engine, ask, read_clip(folder + "/input.wav", engine.sample_rate_hz()));

  const std::vector<float> values = golden_floats(*golden.find("step.top.values"));
  const std::vector<std::int64_t> ids = golden_integers(*golden.find("step.top.ids"));
  const double limit = facts.at("tolerance").at("step.top.values").to_number<double>();
  ASSERT_EQ(tap.rows.size() * 32, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(tap.rows[i / 32][static_cast<std::size_t>(ids[i])], values[i], limit)
        << "step " << i / 32 << ", token " << ids[i];
  }
}

class VibeVoiceEdges : public VibeVoiceParity {};

TEST_P(VibeVoiceEdges, LengthsAndLevelsAtTheEdgeEqualTheReference) {
  const boost::json::value facts = golden_json(folder() + "/edges.json");
  const boost::json::value prompt = golden_json(folder() + "/expected.json");
  const GoldenFile golden(folder() + "/edges.safetensors");
  const boost::json::object& limits = facts.at("tolerance").as_object();
  SessionOptions ask;
  ask.context = prompt.at("prompt").at("context").as_string().c_str();
  ask.max_output_tokens = 1;
  for (const auto& [clip, about] : facts.at("clips").as_object()) {
    std::map<std::string, double> expected;
    const std::string name(clip);
    // The golden file names its clips first; the tap sees the plain names.
    class ClipTap final : public Tap {
     public:
      std::map<std::string, std::vector<float>> seen;
      bool wants(std::string_view at) const override {
        return at == "pcm" || at == "enc.a.mean" || at == "enc.s.mean" || at == "speech";
      }
      void see(std::string_view at, const Tensor& rows, const Spans&) override {
        std::vector<float>& to = seen[std::string(at)];
        for (std::int64_t r = 0; r < rows.rows; ++r) {
          const auto row = rows.row<const float>(r);
          to.insert(to.end(), row.begin(), row.end());
        }
      }
    } tap;
    Engine engine(options(&tap));
    transcribe(engine, ask, golden_samples(*golden.find(name + ".raw")));
    for (const auto& [at, values] : tap.seen) {
      const RawTensor* raw = golden.find(name + "." + at);
      if (raw == nullptr) continue;
      const std::vector<float> wanted = golden_floats(*raw);
      ASSERT_EQ(values.size(), wanted.size()) << name << "." << at;
      const std::string group = at.substr(0, at.find('.'));
      const double limit = limits.at(group).to_number<double>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], wanted[i], limit) << name << "." << at << " at " << i;
      }
    }
    EXPECT_EQ(tap.seen.count("speech"), 1U) << name;

    const Tokenizer tokenizer = read_tokenizer_json(
        read_file(folder() + "/tokenizer.json", std::size_t{64} << 20), "tokenizer.json");
    const bool original = facts.at("tail").as_string() == "ms";
    const vibevoice::Prompt made = vibevoice::make_prompt(
        tokenizer,
        vibevoice::context_text(
            ask, original ? vibevoice::Layout::kOriginal : vibevoice::Layout::kTransformers),
        vibevoice::duration_text(about.at("samples").to_number<std::int64_t>(), 24000));
    std::vector<std::int64_t> ids(made.before.begin(), made.before.end());
    ids.insert(ids.end(), made.after.begin(), made.after.end());
    EXPECT_EQ(ids, integers(about.at("prompt_ids_without_frames"))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, VibeVoiceEdges,
                         testing::Values("hf-segments-context", "orig-segments"));

}  // namespace
}  // namespace verbatim
