// Two threads and a queue between them: recording never waits for the model.
#include "cli/utterance_run.h"

#include <future>
#include <span>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/lag_meter.h"

namespace verbatim {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late an interrupt may be noticed
constexpr std::size_t kBlockSamples = 1 << 14;
constexpr double kMostWaitingS = 600;

// However its thread ends, nobody waits for it any longer.
struct CloseAtEnd {
  UtteranceQueue& queue;
  ~CloseAtEnd() { queue.close(); }
};

// However following ends, the recording ends too.
struct EndAtEnd {
  std::atomic<bool>& end;
  UtteranceQueue& queue;
  ~EndAtEnd() {
    end = true;
    queue.close();
  }
};

// Returns the samples that were heard.
std::int64_t record(AudioSource& source, double max_utterance_s, UtteranceQueue& queue) {
  const CloseAtEnd closing{queue};
  UtteranceCutter cutter(source.sample_rate_hz(), max_utterance_s);
  const auto pass_on = [&] {
    for (Utterance& utterance : cutter.take()) queue.put(std::move(utterance));
  };
  std::int64_t heard = 0;
  std::vector<float> block(kBlockSamples);
  while (const std::size_t count = source.read(block)) {
    heard += static_cast<std::int64_t>(count);
    cutter.push(std::span(block).first(count));
    pass_on();
  }
  cutter.finish();
  pass_on();
  for (const AudioNote& note : source.notes()) queue.warn({note.code, note.what, 0, 0});
  return heard;
}

class Follower {
 public:
  Follower(UtteranceRun& run, double rate_hz, LiveOutput& output)
      : run_(run), rate_hz_(rate_hz), output_(output) {}

  void warn(Warning warning) {
    output_.warning(warning);
    whole_.warnings.push_back(std::move(warning));
  }

  void hear(const Utterance& utterance) {
    const double length_s = static_cast<double>(utterance.samples.size()) / rate_hz_;
    start_s_ = static_cast<double>(utterance.first) / rate_hz_;
    end_s_ = start_s_ + length_s;
    const std::unique_ptr<Stream> stream = run_.open(length_s);
    stream->push_live(utterance.samples);
    stream->finish();
    for (bool is_done = false; !is_done;) {
      notice_interrupt();
      if (std::optional<Event> event = stream->next(kWait)) is_done = take(*event);
    }
  }

  void tell_lag(double waiting_s) {
    if (const std::optional<Lag> lag = meter_.hears(end_s_, end_s_ + waiting_s)) output_.lag(*lag);
  }

  void notice_interrupt() {
    if (is_interrupted()) *run_.end = true;
  }

  Transcript result(double audio_s) {
    whole_.text = join_texts(whole_.segments);
    whole_.usage.audio_s = audio_s;
    return std::move(whole_);
  }

 private:
  // True at the utterance's end. Warnings come again in the transcript, where all of them are.
  bool take(Event& event) {
    if (auto* done = std::get_if<SegmentDone>(&event)) {
      add(std::move(done->segment));
    } else if (auto* end = std::get_if<Done>(&event)) {
      for (Warning& said : end->transcript.warnings) warn(shifted(std::move(said)));
      whole_.usage.prompt_tokens += end->transcript.usage.prompt_tokens;
      whole_.usage.output_tokens += end->transcript.usage.output_tokens;
      return true;
    } else if (const auto* failed = std::get_if<Failed>(&event)) {
      throw Error(failed->code, failed->message);
    }
    return false;
  }

  void add(Segment segment) {
    segment.start_s += start_s_;
    segment.end_s += start_s_;
    for (Word& word : segment.words) {
      word.start_s += start_s_;
      word.end_s += start_s_;
    }
    for (const Word& word : segment.words) output_.word(word);
    output_.segment(segment);
    // What a recording of days keeps is the text.
    segment.tokens = {};
    segment.words = {};
    whole_.segments.push_back(std::move(segment));
  }

  Warning shifted(Warning warning) const {
    if (warning.end_s > warning.start_s) {
      warning.start_s += start_s_;
      warning.end_s += start_s_;
    } else {
      warning.start_s = start_s_;
      warning.end_s = end_s_;
    }
    return warning;
  }

  UtteranceRun& run_;
  double rate_hz_;
  LiveOutput& output_;
  LagMeter meter_;
  Transcript whole_;
  double start_s_ = 0;  // of the utterance that is heard
  double end_s_ = 0;
};

}  // namespace

void UtteranceQueue::put(Utterance utterance) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return is_closed_ || static_cast<double>(waiting_samples_) < kMostWaitingS * rate_hz_;
  });
  waiting_samples_ += static_cast<std::int64_t>(utterance.samples.size());
  utterances_.push_back(std::move(utterance));
  changed_.notify_all();
}

void UtteranceQueue::warn(const Warning& warning) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(warning);
  changed_.notify_all();
}

void UtteranceQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

UtteranceQueue::Next UtteranceQueue::next(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait,
                    [&] { return is_closed_ || !utterances_.empty() || !warnings_.empty(); });
  Next next;
  next.warnings = std::exchange(warnings_, {});
  if (!utterances_.empty()) {
    next.utterance = std::move(utterances_.front());
    utterances_.pop_front();
    waiting_samples_ -= static_cast<std::int64_t>(next.utterance->samples.size());
    changed_.notify_all();
  }
  next.waiting_s = static_cast<double>(waiting_samples_) / rate_hz_;
  next.is_over = is_closed_ && utterances_.empty();
  return next;
}

Transcript follow_utterances(UtteranceRun run, UtteranceQueue& queue, LiveOutput& output) {
  const double rate_hz = run.source->sample_rate_hz();
  std::future<std::int64_t> recording = std::async(std::launch::async, [&run, &queue] {
    return record(*run.source, run.max_utterance_s, queue);
  });
  const EndAtEnd ending{*run.end, queue};
  Follower follower(run, rate_hz, output);
  for (bool is_over = false; !is_over;) {
    follower.notice_interrupt();
    UtteranceQueue::Next next = queue.next(kWait);
    for (Warning& warning : next.warnings) follower.warn(std::move(warning));
    if (next.utterance) follower.hear(*next.utterance);
    follower.tell_lag(next.waiting_s);
    is_over = next.is_over;
  }
  return follower.result(static_cast<double>(recording.get()) / rate_hz);
}

}  // namespace verbatim
