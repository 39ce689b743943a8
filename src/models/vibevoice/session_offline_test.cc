// One clip as a state machine: what ends it, what is drawn, and what blocks and budgets must not
// change.
#include "models/vibevoice/session_offline.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/source.h"
#include "models/changed_checkpoint.h"
#include "models/model_run.h"

namespace verbatim::vibevoice {
namespace {

const std::string kNoisy = std::string(kGolden) + "orig-segments";  // its noise is 0.5 wide
const std::string kTransformers = std::string(kGolden) + "hf-segments-context";
constexpr std::int64_t kHop = 3200;  // of all three

std::vector<float> sample(const char* name) {
  AudioRequest request;
  request.what = std::string(kNano) + "/samples/" + name;
  request.sample_rate_hz = 24000;
  const std::unique_ptr<AudioSource> source = open_audio(request);
  std::vector<float> clip(1 << 20);
  std::size_t count = 0;
  while (const std::size_t more = source->read(std::span(clip).subspan(count))) count += more;
  clip.resize(count);
  return clip;
}

std::vector<std::string> codes(const Transcript& transcript) {
  std::vector<std::string> all;
  for (const Warning& warning : transcript.warnings) all.emplace_back(warning.code);
  return all;
}
using Codes = std::vector<std::string>;

// The values that one name had while the clip ran.
std::vector<std::byte> seen(const char* name, const std::string& folder, std::span<const float> pcm,
                            const SessionOptions& options, double room_s = 4,
                            std::int32_t rows = 512) {
  KeepTap tap(name);
  ModelRun(folder, &tap).run(pcm, options, room_s, rows);
  EXPECT_FALSE(tap.bytes.empty());
  return tap.bytes;
}

SessionOptions one_token() {
  SessionOptions options;
  options.max_output_tokens = 1;
  return options;
}

SessionOptions drawn(AcousticSampling how, std::uint64_t seed) {
  SessionOptions options = one_token();
  options.acoustic_sampling = how;
  options.seed = seed;
  return options;
}

class StopTest : public testing::Test {
 protected:
  // Stops, twice, goes on as if nothing had happened, and expects one Done that says so.
  Transcript stopped(Session& session) {
    session.stop();
    EXPECT_TRUE(session.done());
    session.stop();
    session.push(noise_clip(100));
    session.finish();
    EXPECT_FALSE(run_.encode(session));
    EXPECT_FALSE(run_.decode(session));
    std::vector<Event> events;
    session.drain(events);
    int dones = 0, warnings = 0;
    for (const Event& event : events) {
      EXPECT_FALSE(std::holds_alternative<Failed>(event));
      dones += std::holds_alternative<Done>(event) ? 1 : 0;
      if (const Warning* warning = std::get_if<Warning>(&event)) {
        EXPECT_STREQ(warning->code, "interrupted");
        ++warnings;
      }
    }
    EXPECT_EQ(dones, 1);
    EXPECT_EQ(warnings, 1);
    const Transcript& transcript = transcript_of(events);
    EXPECT_EQ(codes(transcript), Codes{"interrupted"});
    return transcript;
  }
  std::unique_ptr<Session> fed(double seconds) {
    std::unique_ptr<Session> session = run_.open({});
    session->push(noise_clip(static_cast<std::int64_t>(seconds * 24000)));
    return session;
  }
  ModelRun run_{kNano};
};

TEST_F(StopTest, BeforeAnyAudio) {
  const std::unique_ptr<Session> session = run_.open({});
  const Transcript transcript = stopped(*session);
  EXPECT_EQ(transcript.segments.size(), 0U);
  EXPECT_EQ(transcript.usage.audio_s, 0);
}

TEST_F(StopTest, WhileAudioIsCollected) {
  const std::unique_ptr<Session> session = fed(2);
  const Transcript transcript = stopped(*session);
  EXPECT_EQ(transcript.usage.audio_s, 2);
  EXPECT_EQ(transcript.usage.prompt_tokens, 0);
}

TEST_F(StopTest, WhileTheClipIsEncoded) {
  const std::unique_ptr<Session> session = fed(5);
  session->finish();
  ASSERT_TRUE(run_.encode(*session, 1));
  EXPECT_EQ(stopped(*session).usage.output_tokens, 0);
}

TEST_F(StopTest, WhileThePromptIsPrefilled) {
  const std::unique_ptr<Session> session = fed(2);
  session->finish();
  ASSERT_TRUE(run_.encode(*session));
  ASSERT_TRUE(run_.decode(*session, 16));
  const Transcript transcript = stopped(*session);
  EXPECT_EQ(transcript.usage.prompt_tokens, 16);
  EXPECT_EQ(transcript.usage.output_tokens, 0);
}

TEST_F(StopTest, WhileTokensAreDecodedKeepsWhatWasRecognised) {
  const std::unique_ptr<Session> session = run_.open({});
  session->push(sample("commands-joe.wav"));
  session->finish();
  while (run_.encode(*session)) {
  }
  for (int token = 0; token < 30; ++token) ASSERT_TRUE(run_.decode(*session));
  const Transcript transcript = stopped(*session);
  EXPECT_EQ(transcript.usage.output_tokens, 30);
  ASSERT_GE(transcript.segments.size(), 1U);
  EXPECT_EQ(transcript.segments[0].text, "open door");
}

TEST(OfflineSession, ALimitOnTokensDeliversWhatWasRecognisedAndSaysSo) {
  ModelRun run(kNano);
  SessionOptions options;
  options.max_output_tokens = 30;
  const Transcript transcript = transcript_of(run.run(sample("commands-joe.wav"), options));
  EXPECT_EQ(codes(transcript), Codes{"truncated"});
  EXPECT_TRUE(contains(transcript.warnings[0].message, "30 tokens"));
  EXPECT_EQ(transcript.usage.output_tokens, 30);
  ASSERT_GE(transcript.segments.size(), 1U);
  EXPECT_EQ(transcript.segments[0].text, "open door");
}

TEST(OfflineSession, TheEndOfItsCacheIsALimitToo) {
  ModelRun run(kNano);
  const std::vector<float> clip = sample("commands-joe.wav");
  const std::int64_t prompt = transcript_of(run.run(clip, one_token())).usage.prompt_tokens;
  std::vector<Event> events;
  {
    const std::unique_ptr<Session> session = run.open({}, prompt + 12);
    session->push(clip);
    session->finish();
    while (!session->done()) {
      run.encode(*session);
      run.decode(*session);
    }
    session->drain(events);
  }
  EXPECT_EQ(transcript_of(events).usage.output_tokens, 12);
  EXPECT_EQ(codes(transcript_of(events)), Codes{"truncated"});

  const std::unique_ptr<Session> full = run.open({}, prompt);
  full->push(clip);
  const std::string message = message_of(Code::kExhausted, [&] { full->finish(); });
  EXPECT_TRUE(contains(message, "6.23 s")) << message;
  EXPECT_TRUE(contains(message, std::to_string(prompt) + " positions")) << message;
}

TEST(OfflineSession, AClipWithoutASampleIsRefused) {
  ModelRun run(kNano);
  const std::unique_ptr<Session> session = run.open({});
  session->push({});
  const std::string message = message_of(Code::kInvalidArgument, [&] { session->finish(); });
  EXPECT_TRUE(contains(message, "holds no audio")) << message;
}

TEST(OfflineSession, OneSampleIsAClip) {
  ModelRun run(kNano);
  const std::vector<float> one{0.25F};
  for (const Tail tail : {Tail::kMs, Tail::kHf}) {
    SessionOptions options;
    options.tail = tail;
    const Transcript transcript = transcript_of(run.run(one, options));
    EXPECT_DOUBLE_EQ(transcript.usage.audio_s, 1.0 / 24000);
    EXPECT_GT(transcript.usage.output_tokens, 0);
  }
}

TEST(OfflineSession, ARepetitionEndsItAndIsTold) {
  ChangedCheckpoint changed(kNano);
  NamedTensor& head = changed.tensor("lm_head.weight");
  const std::vector<std::byte> zeros(head.bytes.size());
  head.bytes = zeros;  // all logits are equal: always the first token
  ModelRun run(changed.write());
  const Transcript transcript = transcript_of(run.run(noise_clip(24000), {}));
  EXPECT_EQ(codes(transcript), Codes{"loop"});
  EXPECT_EQ(transcript.usage.output_tokens, 96);
  ASSERT_EQ(transcript.segments.size(), 1U);
  EXPECT_EQ(transcript.segments[0].tokens.size(), 0U);  // of a list that was none
  EXPECT_GT(transcript.segments[0].text.size(), 90U);
}

TEST(OfflineSession, WhatWasAskedIsEchoed) {
  ModelRun run(kNano);
  SessionOptions options = one_token();
  options.language = "german";
  EXPECT_EQ(transcript_of(run.run(noise_clip(24000), options)).language, "german");
}

TEST(OfflineSession, ProgressGoesFromEncodeOverPrefillToDecode) {
  ModelRun run(kNano);
  const std::vector<float> clip = sample("commands-joe.wav");
  const double total = static_cast<double>(clip.size()) / 24000;
  const std::vector<std::string> stages{"encode", "prefill", "decode"};
  std::size_t stage = 0;
  double done = 0;
  std::int64_t tokens = 0;
  std::size_t segments = 0;
  for (const Event& event : run.run(clip, {}, 1)) {
    segments += std::holds_alternative<SegmentDone>(event) ? 1U : 0U;
    const Progress* progress = std::get_if<Progress>(&event);
    if (progress == nullptr) continue;
    while (stage < stages.size() && progress->stage != stages[stage]) {
      ++stage;
      done = 0;
    }
    ASSERT_LT(stage, stages.size()) << progress->stage;
    EXPECT_GE(progress->done_s, done);
    EXPECT_LE(progress->done_s, total);
    EXPECT_DOUBLE_EQ(progress->total_s, total);
    EXPECT_GE(progress->tokens, tokens);
    done = progress->done_s;
    tokens = progress->tokens;
  }
  EXPECT_EQ(stage, 2U);
  EXPECT_EQ(segments, 3U);
}

TEST(OfflineSession, SampledTokensDependOnTheSeedAlone) {
  const std::vector<float> clip = noise_clip(24000);
  SessionOptions options;
  options.temperature = 1.5;
  options.max_output_tokens = 40;
  options.seed = 11;
  const std::vector<std::byte> first = seen("token", kNano, clip, options);
  EXPECT_EQ(seen("token", kNano, clip, options), first);
  EXPECT_EQ(seen("token", kNano, clip, options, 0.2, 7), first);
  options.seed = 12;
  EXPECT_NE(seen("token", kNano, clip, options), first);
}

TEST(OfflineSession, ANucleusOfOneTokenIsGreedy) {
  const std::vector<float> clip = sample("nato-slt.wav");
  SessionOptions options;
  const std::vector<std::byte> greedy = seen("token", kNano, clip, options);
  options.temperature = 1.5;
  options.top_p = 1e-9;
  EXPECT_EQ(seen("token", kNano, clip, options), greedy);
}

TEST(OfflineSession, AcousticNoiseDependsOnTheSeedAlone) {
  const std::vector<float> clip = noise_clip(5 * kHop + 17);
  const std::vector<std::byte> mode = seen("speech", kNoisy, clip, one_token());
  std::vector<std::vector<std::byte>> all{mode};
  for (const AcousticSampling how : {AcousticSampling::kFix, AcousticSampling::kGaussian}) {
    for (const std::uint64_t seed : {0U, 1U}) {
      const std::vector<std::byte> speech = seen("speech", kNoisy, clip, drawn(how, seed));
      EXPECT_EQ(seen("speech", kNoisy, clip, drawn(how, seed)), speech);
      // Nor on how far the encoder goes at a time.
      EXPECT_EQ(seen("speech", kNoisy, clip, drawn(how, seed), 0.01), speech);
      EXPECT_EQ(speech.size(), mode.size());
      for (const std::vector<std::byte>& other : all) EXPECT_NE(speech, other);
      all.push_back(speech);
    }
  }
}

// Of many draws, the root of the mean square.
double width_of_noise(ModelRun& run, AcousticSampling how, std::uint64_t seed) {
  double sum = 0;
  std::size_t count = 0;
  {
    const std::unique_ptr<Session> session = run.open(drawn(how, seed));
    session->push(noise_clip(250 * kHop));
    session->finish();
    EncodeBatch batch(1000);
    session->plan(batch);
    const Tensor& drawn_rows = batch.items()[0].noise;
    for (std::int64_t r = 0; r < drawn_rows.rows; ++r) {
      for (const float value : drawn_rows.row<const float>(r))
        sum += static_cast<double>(value * value);
    }
    count = static_cast<std::size_t>(drawn_rows.rows * drawn_rows.cols);
    EXPECT_EQ(count, 250U * 8);
  }
  run.clear();
  return std::sqrt(sum / static_cast<double>(count));
}

// The reference: 0.5 for one, 0.5 / 0.8 times one more draw, the clip's first, for the other.
TEST(OfflineSession, AcousticNoiseIsAsWideAsTheReferences) {
  ModelRun run(kNoisy);
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    EXPECT_NEAR(width_of_noise(run, AcousticSampling::kFix, seed), 0.5, 0.03);
    const double wide = 0.625 * std::abs(RandomBits(seed).normal());
    EXPECT_NEAR(width_of_noise(run, AcousticSampling::kGaussian, seed), wide, 0.06 * wide) << seed;
  }
}

TEST(OfflineSession, TheMeanTakesNoSeed) {
  const std::vector<float> clip = noise_clip(3 * kHop);
  EXPECT_EQ(seen("speech", kNoisy, clip, drawn(AcousticSampling::kMode, 3)),
            seen("speech", kNoisy, clip, drawn(AcousticSampling::kMode, 4)));
}

TEST(OfflineSession, NoiseOfNoWidthIsTheMean) {
  const std::vector<float> clip = noise_clip(3 * kHop);
  const std::vector<std::byte> mode = seen("speech", kNano, clip, one_token());
  EXPECT_EQ(seen("speech", kNano, clip, drawn(AcousticSampling::kFix, 3)), mode);
  EXPECT_EQ(seen("speech", kNano, clip, drawn(AcousticSampling::kGaussian, 3)), mode);
}

TEST(OfflineSession, TheTailRuleChangesTheLastFrameAlone) {
  SessionOptions ms = one_token(), hf = one_token();
  ms.tail = Tail::kMs;
  hf.tail = Tail::kHf;
  for (const std::string& folder : {std::string(kNano), kTransformers}) {
    SCOPED_TRACE(folder);
    const std::vector<float> clip = noise_clip(4 * kHop + 1000);
    const std::vector<std::byte> a = seen("speech", folder, clip, ms);
    const std::vector<std::byte> b = seen("speech", folder, clip, hf);
    ASSERT_EQ(a.size(), b.size());
    const auto before = static_cast<std::ptrdiff_t>(a.size() / 5 * 4);
    EXPECT_TRUE(std::equal(a.begin(), a.begin() + before, b.begin()));
    EXPECT_FALSE(std::equal(a.begin() + before, a.end(), b.begin() + before));
    EXPECT_EQ(seen("speech", folder, clip, one_token()), folder == kTransformers ? b : a);

    const std::vector<float> whole = noise_clip(4 * kHop);
    EXPECT_EQ(seen("speech", folder, whole, ms), seen("speech", folder, whole, hf));
  }
}

TEST(OfflineSession, BlocksAndBudgetsChangeNoBit) {
  std::vector<float> clip = sample("two-speakers.wav");
  clip.resize(70001);
  const std::vector<std::byte> speech = seen("speech", kNano, clip, one_token());
  for (const double room_s : {0.01, 0.7, 100.0})
    EXPECT_EQ(seen("speech", kNano, clip, one_token(), room_s), speech) << room_s;
  SessionOptions options;
  options.max_output_tokens = 25;
  const std::vector<std::byte> tokens = seen("token", kNano, clip, options);
  for (const std::int32_t rows : {1, 37, 4096})
    EXPECT_EQ(seen("token", kNano, clip, options, 4, rows), tokens) << rows;
}

TEST(OfflineSession, TheSizeOfTheBlocksThatArriveChangesNoBit) {
  const std::vector<float> clip = noise_clip(2 * kHop + 5);
  const std::vector<std::byte> pcm = seen("pcm", kNoisy, clip, one_token());
  for (const std::size_t block : {std::size_t{1}, std::size_t{777}}) {
    KeepTap tap("pcm");
    ModelRun run(kNoisy, &tap);
    const std::unique_ptr<Session> session = run.open(one_token());
    for (std::size_t at = 0; at < clip.size(); at += block)
      session->push(std::span(clip).subspan(at, std::min(block, clip.size() - at)));
    session->finish();
    while (run.encode(*session)) {
    }
    EXPECT_EQ(tap.bytes, pcm) << block;
  }
}

TEST(OfflineSession, EncodesNoFurtherAheadThanThePromptTakes) {
  KeepTap tap("speech");
  ModelRun run(kNoisy, &tap, 2);
  const std::unique_ptr<Session> session = run.open({}, 1500);
  session->push(std::vector<float>(static_cast<std::size_t>(1100 * kHop), 0.01F));
  session->finish();
  const auto frames = [&] { return tap.bytes.size() / sizeof(float) / 64; };  // hidden_size is 64
  while (run.encode(*session, 20)) {
  }
  const std::size_t ahead = frames();
  EXPECT_GE(ahead, 1024U);
  EXPECT_LT(ahead, 1100U);
  // Every frame in the prompt makes room for another.
  ASSERT_TRUE(run.decode(*session, 512));
  ASSERT_TRUE(run.encode(*session, 20));
  EXPECT_EQ(frames(), 1100U);
}

// One frame at least, however little room a tick has and whoever planned before.
TEST(OfflineSession, EverySessionEncodesAFrameWhateverTheRoom) {
  ModelRun run(kNoisy, nullptr, 2);
  const std::unique_ptr<Session> session = run.open({});
  session->push(noise_clip(3 * kHop));
  session->finish();
  EncodeBatch batch(0);
  session->plan(batch);
  ASSERT_EQ(batch.items().size(), 1U);
  EXPECT_EQ(batch.items()[0].rows.rows, kHop);

  const std::unique_ptr<Session> second = run.open({});
  second->push(noise_clip(3 * kHop));
  second->finish();
  second->plan(batch);
  EXPECT_EQ(batch.items().size(), 2U);
}

}  // namespace
}  // namespace verbatim::vibevoice
