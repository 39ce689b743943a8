// Checkpoints that others quantised: their weights to the bit, and what a model computes from them
// within the fixtures' own tolerances. Code times scale is not rounded again here, so that logits
// are held to the fixtures' unrounded.* tensors.
#include <gtest/gtest.h>

#include "tests/parity/golden.h"
#include "weights/layout.h"

namespace verbatim {
namespace {

class QuantisedParity : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const {
    return std::string("tests/golden/vibevoice-asr/quant-") + GetParam();
  }
};

TEST_P(QuantisedParity, EveryReferenceRowEqualsThePublishedDequantiser) {
  const GoldenFile golden(folder() + "/expected.safetensors");
  const Checkpoint checkpoint = Checkpoint::open(folder());
  const std::string front = checkpoint.find("language_model.model.norm.weight") != nullptr
                                ? "language_model.model."
                                : "model.language_model.";
  int compared = 0;
  for (const RawTensor& raw : golden.tensors()) {
    if (!raw.name.starts_with("weight.")) continue;
    const std::string prefix = front + raw.name.substr(std::string_view("weight.").size());
    const auto out = static_cast<std::int32_t>(raw.shape[0]);
    const auto in = static_cast<std::int32_t>(raw.shape[1]);
    WeightStorage storage;
    const Weight weight =
        recognise_layout(checkpoint, prefix).read(checkpoint, prefix, out, in, storage);
    const std::vector<float> wanted = golden_floats(raw);
    const auto decode = weight.format->reference_row != nullptr ? weight.format->reference_row
                                                                : weight.format->decode_row;
    std::vector<float> row(static_cast<std::size_t>(in));
    for (std::int32_t r = 0; r < out; ++r) {
      decode(weight, r, row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        ASSERT_EQ(row[i], wanted[static_cast<std::size_t>(r) * row.size() + i])
            << raw.name << " row " << r << " column " << i;
      }
    }
    ++compared;
  }
  EXPECT_EQ(compared, 3);
}

TEST_P(QuantisedParity, EveryNamedTensorAndTokenEqualsTheReference) {
  const boost::json::value facts = golden_json(folder() + "/expected.json");
  const GoldenFile golden(folder() + "/expected.safetensors");
  const boost::json::object& tolerance = facts.at("tolerance").as_object();
  // Tensors that have an unrounded twin are held to that; what is computed from rounded weights
  // without one is left out, but for the row of the prompt that the twin's limits cover.
  std::map<std::string, double> limits;
  limits["speech"] = tolerance.at("speech").to_number<double>();
  CompareTap speech(golden, limits);
  class StepTap final : public Tap {
   public:
    explicit StepTap(CompareTap& first) : first_(first) {}
    std::vector<float> step_norm;
    std::vector<float> logits;
    bool wants(std::string_view name) const override {
      return name == "step.norm" || name == "logits" || first_.wants(name);
    }
    void see(std::string_view name, const Tensor& rows, const Spans& spans) override {
      if (first_.wants(name)) first_.see(name, rows, spans);
      if (name != "step.norm" && name != "logits") return;
      std::vector<float>& to = name == "logits" ? logits : step_norm;
      for (std::int64_t r = 0; r < rows.rows; ++r) {
        const auto row = rows.row<const float>(r);
        to.insert(to.end(), row.begin(), row.end());
      }
    }

   private:
    CompareTap& first_;
  } tap(speech);
  EngineOptions options;
  options.model = folder();
  options.kv = "f32";
  options.threads = 2;
  options.own_thread = false;
  options.tap = &tap;
  Engine engine(options);
  SessionOptions ask;
  ask.context = facts.at("prompt").at("context").as_string().c_str();
  transcribe(engine, ask, read_clip(folder() + "/input.wav", engine.sample_rate_hz()));

  EXPECT_EQ(speech.first_divergence(), "");
  EXPECT_EQ(speech.missing(), std::vector<std::string>{});
  EXPECT_EQ(speech.tokens(), golden_integers(*golden.find("token")));
  double worst = 0;
  const auto compare = [&](const char* name, const std::vector<float>& seen) {
    const RawTensor* raw = golden.find(name);
    ASSERT_NE(raw, nullptr) << name;
    const std::vector<float> wanted = golden_floats(*raw);
    ASSERT_EQ(seen.size(), wanted.size()) << name;
    const double limit = tolerance.at(name).to_number<double>();
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_NEAR(seen[i], wanted[i], limit) << name << " at " << i;
      worst = std::max(
          worst, std::abs(static_cast<double>(seen[i]) - static_cast<double>(wanted[i])) / limit);
    }
  };
  compare("unrounded.step.norm", tap.step_norm);
  compare("unrounded.logits", tap.logits);
  std::printf("%s: largest difference is %.2f of what is allowed\n", GetParam(),
              std::max(worst, speech.worst_share()));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, QuantisedParity,
                         testing::Values("nf4", "nf4-double", "awq", "gptq-sym", "gptq-asym",
                                         "gptq-actorder", "ct-w8a8", "ct-w4a8", "ct-w4a16",
                                         "ct-w4a16-channel", "ct-w4a16-asym"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace verbatim
