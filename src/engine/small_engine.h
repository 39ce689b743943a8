// For tests: engines over small checkpoints that the test ticks by itself, and what streams said.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/test_clip.h"
#include "base/scratch_folder.h"
#include "device/test_place.h"
#include "engine/engine.h"

namespace verbatim {

constexpr const char* kNanoFolder = "models/vibevoice-asr-nano";
constexpr const char* kTinyFolder = "tests/golden/vibevoice-asr/orig-segments";  // random weights

inline EngineOptions small_options(const std::string& folder = kTinyFolder) {
  EngineOptions options;
  options.model = folder;
  options.threads = 1;
  options.pin_threads = false;
  options.kv = "f32";
  options.max_context = 512;
  options.own_thread = false;
  return options;
}

// Random weights rarely end by themselves.
inline SessionOptions short_answer(std::int64_t tokens = 8) {
  SessionOptions options;
  options.max_output_tokens = tokens;
  return options;
}

inline std::vector<float> noise(double seconds, std::uint32_t seed = 1) {
  return TestValues(seed).uniforms(static_cast<std::int64_t>(seconds * 24000), 0.3F);
}

inline std::vector<float> nano_sample(const char* name) {
  return read_clip(std::string(kNanoFolder) + "/samples/" + name, 24000);
}

// A client that notes everything its stream says.
class Client {
 public:
  explicit Client(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
  // The whole clip and its end.
  Client(std::unique_ptr<Stream> stream, std::span<const float> clip) : Client(std::move(stream)) {
    stream_->push(clip);
    stream_->finish();
  }

  Stream& stream() { return *stream_; }
  void leave() { stream_.reset(); }
  // What has arrived, or, with a wait, everything until the end.
  void listen(std::chrono::milliseconds wait = std::chrono::milliseconds(0)) {
    while (std::optional<Event> event = stream_->next(wait)) {
      EXPECT_FALSE(is_over()) << "something came behind the end";
      if (Done* done = std::get_if<Done>(&*event)) done_ = std::move(done->transcript);
      if (Failed* failed = std::get_if<Failed>(&*event)) failed_ = std::move(*failed);
      if (const Warning* warning = std::get_if<Warning>(&*event))
        warned.emplace_back(warning->code);
      ++events;
    }
  }
  bool is_over() const { return done_.has_value() || failed_.has_value(); }
  bool is_done() const { return done_.has_value(); }
  const Transcript& transcript() const {
    check(done_.has_value(), failed_ ? failed_->message.c_str() : "the stream has ended");
    return *done_;
  }
  std::vector<std::string> codes() const {
    std::vector<std::string> all;
    for (const Warning& warning : transcript().warnings) all.emplace_back(warning.code);
    return all;
  }
  // What it failed with; the test's failure when it did not.
  std::string failure(Code code) const {
    EXPECT_TRUE(failed_.has_value());
    if (!failed_) return "";
    EXPECT_EQ(static_cast<int>(failed_->code), static_cast<int>(code)) << failed_->message;
    return failed_->message;
  }

  int events = 0;
  std::vector<std::string> warned;

 private:
  std::unique_ptr<Stream> stream_;
  std::optional<Transcript> done_;
  std::optional<Failed> failed_;
};

// Until there is nothing left to do.
inline void run(Engine& engine) {
  while (engine.tick()) {
  }
}

inline std::string said(const Transcript& transcript) {
  std::string text = formatted("%lld %lld", static_cast<long long>(transcript.usage.prompt_tokens),
                               static_cast<long long>(transcript.usage.output_tokens));
  for (const Segment& segment : transcript.segments) {
    text += formatted("\n%.2f %.2f %d %s", segment.start_s, segment.end_s, segment.speaker,
                      segment.text.c_str());
    for (const std::int32_t token : segment.tokens) text += formatted(" %d", token);
  }
  return text;
}

}  // namespace verbatim
