// A stream that runs for hours: what its caches hold, what a step visits and what the process takes
// are the same at five minutes and at the end.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <vector>

#include "kv/pool.h"
#include "tests/invariance/nano.h"
#include "weights/test_values.h"

namespace verbatim {
namespace {

constexpr std::int64_t kWindow = 64;  // of both halves of the checkpoint
constexpr std::size_t kBlock = 1280;
constexpr std::int64_t kMinute = 750;  // blocks

// Of the passes over one cache.
struct Passes {
  std::int64_t count = 0;
  std::int64_t most_rows = 0;
  std::int64_t held = 0;  // pages, summed over the passes
  std::int64_t most_held = 0;
  std::int64_t visited = 0;  // pages that the window of some row reaches, summed likewise
  bool operator==(const Passes&) const = default;
};

std::ostream& operator<<(std::ostream& to, const Passes& passes) {
  return to << passes.count << " passes of up to " << passes.most_rows << " rows, " << passes.held
            << " pages held in all and " << passes.most_held << " at once, " << passes.visited
            << " visited";
}

class PagesTap final : public Tap {
 public:
  bool wants(std::string_view name) const override { return name == "x" || name == "enc.norm"; }
  void see(std::string_view name, const Tensor&, const Spans& spans) override {
    if (name == "x") look(decoder, spans.host[0]);
    if (name == "enc.norm") look(encoder, spans.host[0]);
  }
  Passes decoder;
  Passes encoder;

 private:
  // The cache's own length, for the decoder's positions begin anew with its context.
  static void look(Passes& passes, const Span& span) {
    const std::int64_t length = span.kv->length();
    const auto held = static_cast<std::int64_t>(span.kv->pages().size());
    const std::int64_t first = std::max<std::int64_t>(0, length - kWindow + 1) / kPagePositions;
    const std::int64_t last = (length + span.rows - 1) / kPagePositions;
    EXPECT_LE(span.kv->first_page(), first);
    EXPECT_GE(span.kv->first_page() + held, last + 1);
    ++passes.count;
    passes.most_rows = std::max<std::int64_t>(passes.most_rows, span.rows);
    passes.held += held;
    passes.most_held = std::max(passes.most_held, held);
    passes.visited += last - first + 1;
  }
};

std::int64_t resident_bytes() {
  std::ifstream from("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  from >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// Silence and noise, for ever, or words with a little of it: 159 of them before they come again, or
// the stream would rightly be told to repeat itself. Loops of whole blocks that divide five
// minutes.
std::vector<float> loop_of(bool has_words) {
  std::vector<float> loop;
  if (has_words) loop = nano_clip(kVoxtralNano, "s8_long_mixed");
  loop.resize(loop.size() + 50 * kBlock);
  const std::vector<float> noise = TestValues(4).uniforms(100 * kBlock, 0.01F);
  loop.insert(loop.end(), noise.begin(), noise.end());
  return loop;
}

// A live stream of which everything that is said is heard at once.
class LiveRun {
 public:
  struct Measured {
    Passes decoder, encoder;
    std::size_t heap = 0;
    std::int64_t resident = 0;
    std::int64_t words = 0;
  };

  explicit LiveRun(bool has_words) : loop_(loop_of(has_words)) {
    EngineOptions options = nano_options(kVoxtralNano);
    options.tap = &tap_;
    engine_ = std::make_unique<Engine>(options);
    stream_ = engine_->open("", {}, 0);
  }
  // Runs on until so many minutes have been heard, and says what the last 640 blocks took: ten
  // pages of the decoder's cache, forty of the encoder's.
  Measured until(std::int64_t minutes) {
    run(minutes * kMinute - 640);
    tap_.decoder = tap_.encoder = {};
    run(minutes * kMinute);
    return {tap_.decoder, tap_.encoder, ::mallinfo2().uordblks, resident_bytes(), words_};
  }
  std::string finish() {
    stream_->finish();
    while (engine_->tick()) {
    }
    return answer(*stream_);
  }
  int warnings() const { return warnings_; }

 private:
  void run(std::int64_t blocks) {
    for (; blocks_ < blocks; ++blocks_) {
      const std::size_t at = static_cast<std::size_t>(blocks_) * kBlock % loop_.size();
      stream_->push_live(std::span(loop_).subspan(at, kBlock));
      while (engine_->tick()) {
      }
      while (const std::optional<Event> event = stream_->next(std::chrono::milliseconds(0))) {
        words_ += std::holds_alternative<WordDone>(*event) ? 1 : 0;
        warnings_ += std::holds_alternative<Warning>(*event) ? 1 : 0;
        ASSERT_FALSE(std::holds_alternative<Failed>(*event));
      }
    }
  }

  std::vector<float> loop_;
  PagesTap tap_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Stream> stream_;
  std::int64_t blocks_ = 0;
  std::int64_t words_ = 0;
  int warnings_ = 0;
};

void expect_same_work(const LiveRun::Measured& early, const LiveRun::Measured& late) {
  EXPECT_EQ(late.decoder, early.decoder);
  EXPECT_EQ(late.encoder, early.encoder);
  // One decision for each block, and no more pages than its window reaches.
  EXPECT_EQ(early.decoder.count, 640);
  EXPECT_EQ(early.decoder.most_rows, 1);
  EXPECT_EQ(early.decoder.most_held, 2);
  EXPECT_EQ(early.encoder.count, 640);
  EXPECT_EQ(early.encoder.most_rows, 4);
  EXPECT_EQ(early.encoder.most_held, 2);
}

TEST(Endless, TenMinutesWithoutAWordTakeNothing) {
  LiveRun run(false);
  const LiveRun::Measured early = run.until(5);
  const LiveRun::Measured late = run.until(10);
  expect_same_work(early, late);
  EXPECT_EQ(late.heap, early.heap);
  EXPECT_EQ(late.words, 0);
  EXPECT_EQ(run.warnings(), 0);
  EXPECT_EQ(run.finish().find("failed"), std::string::npos);
}

// What has been said is kept for the transcript, and nothing else.
TEST(Endless, TwoHoursOfWordsTakeTheirTranscriptAlone) {
  LiveRun run(true);
  const LiveRun::Measured early = run.until(5);
  const LiveRun::Measured late = run.until(120);
  expect_same_work(early, late);
  const std::int64_t words = late.words - early.words;
  EXPECT_GT(words, 10000);
  constexpr std::int64_t kWordBytes = 120;  // of text, times and id; 8 bytes a step were 63 more
  EXPECT_LT(static_cast<std::int64_t>(late.heap - early.heap), words * kWordBytes);
  EXPECT_LE(late.resident, early.resident + words * kWordBytes);
  EXPECT_EQ(run.warnings(), 0);
  std::printf("%lld words; heap %zu and %zu, resident %lld and %lld bytes\n",
              static_cast<long long>(words), early.heap, late.heap,
              static_cast<long long>(early.resident), static_cast<long long>(late.resident));
  const std::string transcript = run.finish();
  EXPECT_NE(transcript.find("nine five five thirty"), std::string::npos);
}

}  // namespace
}  // namespace verbatim
