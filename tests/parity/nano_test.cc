// The bundled nano checkpoint says what the reference says on every sample.
#include <gtest/gtest.h>

#include "tests/parity/golden.h"

namespace verbatim {
namespace {

constexpr const char* kModel = "models/vibevoice-asr-nano";

class Tokens final : public Tap {
 public:
  std::vector<std::int64_t> ids;
  bool wants(std::string_view name) const override { return name == "token"; }
  void see(std::string_view, const Tensor& rows, const Spans&) override {
    for (std::int64_t r = 0; r < rows.rows; ++r) ids.push_back(rows.row<const std::int32_t>(r)[0]);
  }
};

EngineOptions options(Tap* tap, const char* kv) {
  EngineOptions made;
  made.model = kModel;
  made.kv = kv;
  made.threads = 2;
  made.own_thread = false;
  made.tap = tap;
  return made;
}

// The clips at 16 kHz go through our resampler, the reference's through another one; no token of
// any sample moves by it.
TEST(NanoVibeVoice, EverySampleGivesTheReferencesTokens) {
  const boost::json::value reference = golden_json(std::string(kModel) + "/reference.json");
  for (const auto& [file, about] : reference.at("samples").as_object()) {
    Tokens tap;
    Engine engine(options(&tap, "f32"));
    SessionOptions ask;
    ask.tail = Tail::kHf;
    transcribe(
        engine, ask,
        read_clip(std::string(kModel) + "/samples/" + std::string(file), engine.sample_rate_hz()));
    std::vector<std::int64_t> wanted;
    for (const boost::json::value& id : about.at("ids").as_array())
      wanted.push_back(id.to_number<std::int64_t>());
    EXPECT_EQ(tap.ids, wanted) << file;
  }
}

TEST(NanoVibeVoice, EverySampleGivesTheSameWordsByDefault) {
  const boost::json::value reference = golden_json(std::string(kModel) + "/reference.json");
  Engine engine(options(nullptr, "f16"));
  for (const auto& [file, about] : reference.at("samples").as_object()) {
    const Transcript transcript = transcribe(
        engine, {},
        read_clip(std::string(kModel) + "/samples/" + std::string(file), engine.sample_rate_hz()));
    const boost::json::array& segments = about.at("segments").as_array();
    ASSERT_EQ(transcript.segments.size(), segments.size()) << file;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      EXPECT_EQ(transcript.segments[i].text, segments[i].at("Content").as_string().c_str()) << file;
      EXPECT_EQ(transcript.segments[i].speaker, segments[i].at("Speaker").to_number<std::int32_t>())
          << file;
    }
    EXPECT_EQ(transcript.warnings.size(), 0U) << file;
  }
}

}  // namespace
}  // namespace verbatim
