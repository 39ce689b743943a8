// For tests: a session without a model. Its audio rows say which they are, its tokens are made up,
// and every row that its decoder was given is written down.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/file.h"
#include "kv/codecs.h"
#include "models/changed_checkpoint.h"
#include "models/voxtral/session.h"
#include "text/vocabulary_tekken.h"
#include "weights/test_values.h"

namespace verbatim::voxtral {

constexpr std::int32_t kStubRate = 16000;
constexpr std::int32_t kStubPad = 32;
constexpr std::int32_t kStubText = 1261;  // " a", a word of its own

// Bursts of 150 ms every 250 ms between from_s and to_s of a clip: what Vad calls speech.
inline void add_syllables(std::vector<float>& clip, double from_s, double to_s) {
  const std::vector<float> loud = TestValues(3).uniforms(kStubRate * 15 / 100, 0.3F);
  for (double at = from_s; at < to_s; at += 0.25)
    std::copy(loud.begin(), loud.end(), clip.begin() + static_cast<std::ptrdiff_t>(at * kStubRate));
}

inline std::vector<float> quiet_clip(double seconds) {
  return std::vector<float>(static_cast<std::size_t>(seconds * kStubRate));
}

class StubRun {
 public:
  // Of each row of the decoder: where, with which token, and which audio row of the padded clip.
  struct Heard {
    std::int64_t position = 0;
    std::int32_t token = 0;
    std::int64_t audio = 0;
  };
  // answer: the token that is decided once these rows were heard.
  using Answer = std::function<std::int32_t(const std::vector<Heard>& heard)>;

  explicit StubRun(const SessionOptions& options, Answer answer, const Schedule& schedule = {})
      : schedule_(schedule),
        answer_(std::move(answer)),
        tekken_(read_tekken_json(read_file(kTekken, 1 << 20), kTekken, 1400)),
        decoder_pool_(pool(4096)),
        encoder_pool_(pool(4096)) {
    config_.decoder.hidden_size = 2;
    config_.decoder.sliding_window = 64;
    config_.encoder.sliding_window = 64;
    slot_.kv.push_back(std::make_unique<KvSequence>(*decoder_pool_));
    slot_.kv.push_back(std::make_unique<KvSequence>(*encoder_pool_));
    slot_.conv.push_back(nullptr);
    session_ = std::make_unique<VoxtralSession>(config_, schedule_, 0, tekken_.tokenizer, options,
                                                slot_, Trace());
  }

  VoxtralSession& session() { return *session_; }
  const std::vector<Heard>& heard() const { return heard_; }
  const std::vector<Event>& events() const { return events_; }
  std::int64_t decisions() const { return decisions_; }
  std::int64_t pages() const {
    return static_cast<std::int64_t>(slot_.kv[0]->pages().size() + slot_.kv[1]->pages().size());
  }

  // One pass of each kind, if there is something to do.
  void step() {
    encode(4);
    decode();
    session_->drain(events_);
  }
  // Everything that can be done now.
  void run(double room_s = 4) {
    while (encode(room_s) || decode()) {
    }
    session_->drain(events_);
  }
  // The whole clip in blocks, and its end.
  void run(std::span<const float> clip, std::size_t block) {
    for (std::size_t at = 0; at < clip.size(); at += block) {
      session_->push(clip.subspan(at, std::min(block, clip.size() - at)));
      run();
    }
    session_->finish();
    run();
  }

  std::vector<Warning> warnings(std::string_view code) const {
    std::vector<Warning> all;
    for (const Event& event : events_) {
      const Warning* warning = std::get_if<Warning>(&event);
      if (warning != nullptr && warning->code == code) all.push_back(*warning);
    }
    return all;
  }
  const Transcript& transcript() const {
    const Done* done = events_.empty() ? nullptr : std::get_if<Done>(&events_.back());
    check(done != nullptr, "the session has ended");
    return done->transcript;
  }

 private:
  static constexpr const char* kTekken =
      "tests/golden/voxtral-realtime/windows-mistral-bf16/tekken.json";

  static std::unique_ptr<KvPool> pool(std::int64_t positions) {
    const KvLayout layout{1, 1, 2};
    const auto pages = static_cast<std::int32_t>(positions / kPagePositions);
    const int codec = kv_codec("f32");
    return std::make_unique<KvPool>(layout, codec, pages,
                                    allocate_host(KvPool::storage_bytes(layout, codec, pages)));
  }

  bool encode(double room_s) {
    EncodeBatch batch(room_s);
    session_->plan(batch);
    if (batch.empty()) return false;
    const Span& span = batch.spans()[0];
    check(span.position == encoded_ * config_.token_mel_frames(), "no row of the log-mel is lost");
    span.kv->advance(span.rows / Config::kStemStride);
    std::vector<float> rows;
    for (std::int32_t i = 0; i < span.rows / config_.token_mel_frames(); ++i) {
      rows.push_back(static_cast<float>(encoded_++));
      rows.push_back(-1);
    }
    batch.items()[0].audio = host_rows(rows, static_cast<std::int64_t>(rows.size()) / 2);
    session_->take(batch);
    return true;
  }

  bool decode() {
    DecodeBatch batch(512);
    session_->plan(batch);
    if (batch.empty()) return false;
    const Span& span = batch.spans()[0];
    check(span.kv->length() == span.position, "rows follow what the cache holds");
    for (std::int32_t i = 0; i < span.rows; ++i) {
      const RowInput& row = batch.rows()[static_cast<std::size_t>(i)];
      heard_.push_back({span.position + i, row.token,
                        static_cast<std::int64_t>(row.audio.row<const float>(0)[0])});
    }
    span.kv->advance(span.rows);
    if (batch.items()[0].want != Want::kNothing) {
      ++decisions_;
      batch.items()[0].token = answer_(heard_);
    }
    session_->take(batch);
    return true;
  }

  Config config_;
  Schedule schedule_;
  Answer answer_;
  Tekken tekken_;
  std::unique_ptr<KvPool> decoder_pool_;
  std::unique_ptr<KvPool> encoder_pool_;
  SlotResources slot_;
  std::unique_ptr<VoxtralSession> session_;
  std::vector<Heard> heard_;
  std::vector<Event> events_;
  std::int64_t encoded_ = 0;
  std::int64_t decisions_ = 0;
};

}  // namespace verbatim::voxtral
