// Whoever else is transcribed at the same time, a transcript and its token ids are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/invariance/nano.h"

namespace verbatim {
namespace {

struct Guest {
  std::vector<float> clip;
  SessionOptions options;
  std::string words;  // that its transcript holds
};

std::vector<Guest> vibevoice_guests() {
  std::vector<Guest> made(3);
  made[0] = {nano_clip(kVibeVoiceNano), {}, kVibeVoiceNano.words};
  made[1] = {nano_clip(kVibeVoiceNano, "two-speakers"), {}, "nine four"};
  made[1].options.hotwords = {"goodbye", "message"};
  made[2].clip = nano_clip(kVibeVoiceNano, "digits-jackson");
  made[2].options.temperature = 2;  // logits instead of tokens, and a generator of its own
  made[2].options.seed = 5;
  made[2].options.max_output_tokens = 60;
  return made;
}

// Each with a delay of its own: rows of several conditions in one batch.
std::vector<Guest> voxtral_guests() {
  std::vector<Guest> made(3);
  made[0] = {nano_clip(kVoxtralNano), {}, kVoxtralNano.words};
  made[1] = {nano_clip(kVoxtralNano, "s1_fsdd_takes"), {}, "six five four"};
  made[1].options.delay_ms = 240;
  made[2].clip = nano_clip(kVoxtralNano, "s7_mixed");
  made[2].options.delay_ms = 960;
  made[2].options.temperature = 2;
  made[2].options.seed = 5;
  return made;
}

// The ids at each position of a transcript, of all sessions together.
class TokenTap final : public Tap {
 public:
  bool wants(std::string_view name) const override { return name == "token"; }
  void see(std::string_view, const Tensor& rows, const Spans& spans) override {
    ids[spans.host[0].position].push_back(rows.row<std::int32_t>(0)[0]);
  }
  std::map<std::int64_t, std::vector<std::int32_t>> sorted() const {
    auto made = ids;
    for (auto& [position, all] : made) std::sort(all.begin(), all.end());
    return made;
  }
  std::map<std::int64_t, std::vector<std::int32_t>> ids;
};

class CompanyTest : public testing::TestWithParam<Nano> {
 protected:
  CompanyTest()
      : guests_(GetParam().folder == kVoxtralNano.folder ? voxtral_guests() : vibevoice_guests()) {
    options_ = nano_options(GetParam());
    options_.slots = 3;
    options_.kv = "f16";
  }
  // Each guest in an engine of its own.
  std::vector<std::string> alone(Tap* tap = nullptr) {
    EngineOptions options = options_;
    options.slots = 1;
    options.tap = tap;
    std::vector<std::string> made;
    for (const Guest& guest : guests_) {
      Engine engine(options);
      made.push_back(transcribe(engine, guest.options, guest.clip));
    }
    return made;
  }
  std::unique_ptr<Stream> begun(Engine& engine, const Guest& guest) const {
    std::unique_ptr<Stream> stream = engine.open(
        "", guest.options, static_cast<double>(guest.clip.size()) / engine.sample_rate_hz());
    stream->push(guest.clip);
    stream->finish();
    return stream;
  }
  std::vector<Guest> guests_;
  EngineOptions options_;
};

TEST_P(CompanyTest, ThreeAtOnceAreEachAlone) {
  TokenTap one_by_one;
  const std::vector<std::string> expected = alone(&one_by_one);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NE(expected[i].find(guests_[i].words), std::string::npos) << expected[i];
  TokenTap together;
  options_.tap = &together;
  Engine engine(options_);
  std::vector<std::unique_ptr<Stream>> streams;
  for (const Guest& guest : guests_) streams.push_back(begun(engine, guest));
  while (engine.tick()) {
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answer(*streams[i]), expected[i]) << i;
  EXPECT_EQ(together.ids.at(0).size(), 3U);
  EXPECT_EQ(together.sorted(), one_by_one.sorted());
}

TEST_P(CompanyTest, WhoeverComesLaterOrLeavesMidwayChangesNothing) {
  const std::vector<std::string> expected = alone();
  Engine engine(options_);
  // The first is decoding when the second comes; the third comes while the second is prefilled.
  const std::unique_ptr<Stream> first = begun(engine, guests_[0]);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(engine.tick());
  std::unique_ptr<Stream> second = begun(engine, guests_[1]);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(engine.tick());
  const std::unique_ptr<Stream> third = begun(engine, guests_[2]);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(engine.tick());
  EXPECT_EQ(answer(*second), "not ended");
  second.reset();
  // Another one takes the slot and the pages of the one that left.
  const std::unique_ptr<Stream> again = begun(engine, guests_[1]);
  while (engine.tick()) {
  }
  EXPECT_EQ(answer(*first), expected[0]);
  EXPECT_EQ(answer(*third), expected[2]);
  EXPECT_EQ(answer(*again), expected[1]);
}

TEST_P(CompanyTest, ASlotThatWasUsedBeforeGivesTheSame) {
  const std::vector<std::string> expected = alone();
  options_.slots = 1;
  Engine engine(options_);
  for (const std::size_t i : {0U, 1U, 0U, 2U, 1U}) {
    EXPECT_EQ(transcribe(engine, guests_[i].options, guests_[i].clip), expected[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Nano, CompanyTest, testing::Values(kVibeVoiceNano, kVoxtralNano));

}  // namespace
}  // namespace verbatim
