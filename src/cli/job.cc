// Opens a recording, carries it into a stream and reads the stream's events to their end.
#include "cli/job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/pump.h"

namespace verbatim {
namespace {

constexpr std::chrono::milliseconds kWait{50};  // how late an interrupt may be noticed

// Everything of a source whose length nobody knows, while the reading shows its progress.
SpooledAudio spool(AudioSource& source, const JobRequest& request, const JobWatch& watch) {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> samples{0};
  std::future<SpooledAudio> reading = std::async(std::launch::async, [&] {
    return spool_audio(source, request.spool_folder, stop, &samples);
  });
  while (reading.wait_for(kWait) != std::future_status::ready) {
    if (is_interrupted()) stop = true;
    watch.progress({"read", static_cast<double>(samples.load()) / source.sample_rate_hz(),
                    request.audio.duration_s, 0});
  }
  SpooledAudio audio = reading.get();
  if (is_interrupted())
    fail(Code::kCancelled, "%s: interrupted while it was read", request.audio.what.c_str());
  return audio;
}

// Reads events until the session has ended. Throws what it failed with.
Transcript follow(Stream& stream, const JobRequest& request, const JobWatch& watch) {
  bool stopped = false;
  for (;;) {
    if (is_interrupted() && !std::exchange(stopped, true)) stream.stop();
    std::optional<Event> event = stream.next(kWait);
    if (!event) continue;
    if (const auto* progress = std::get_if<Progress>(&*event)) {
      watch.progress(*progress);
    } else if (const auto* done = std::get_if<SegmentDone>(&*event)) {
      if (watch.segment && !request.split) watch.segment(done->segment);
    } else if (auto* end = std::get_if<Done>(&*event)) {
      return std::move(end->transcript);
    } else if (const auto* failed = std::get_if<Failed>(&*event)) {
      throw Error(failed->code, failed->message);
    }
    // Texts come again in segments, and warnings in the transcript.
  }
}

void add(SessionStats& total, const SessionStats& stats) {
  total.encode_s += stats.encode_s;
  total.prefill_s += stats.prefill_s;
  total.decode_s += stats.decode_s;
  total.audio_frames += stats.audio_frames;
  total.prompt_tokens += stats.prompt_tokens;
  total.output_tokens += stats.output_tokens;
}

Transcript run_channel(Engine& engine, const JobRequest& request, const JobWatch& watch,
                       JobOutcome& outcome) {
  AudioRequest audio = request.audio;
  audio.sample_rate_hz = engine.sample_rate_hz();
  std::unique_ptr<AudioSource> source = open_audio(audio);
  double duration_s = source->duration_s();
  SpooledAudio spooled;
  if (duration_s <= 0 && !engine.is_live()) {
    const Clock::time_point begin = Clock::now();
    spooled = spool(*source, request, watch);
    duration_s = static_cast<double>(spooled.samples) / audio.sample_rate_hz;
    outcome.read_s += seconds_since(begin);
  }
  const std::unique_ptr<Stream> stream = engine.open("", request.options, duration_s);
  Transcript transcript;
  {
    const Pump pump =
        spooled.pcm ? Pump(std::move(spooled), *stream) : Pump(std::move(source), *stream);
    transcript = follow(*stream, request, watch);
  }
  add(outcome.stats, stream->stats());
  return transcript;
}

bool has_interruption(const Transcript& transcript) {
  return std::any_of(
      transcript.warnings.begin(), transcript.warnings.end(),
      [](const Warning& warning) { return std::string_view(warning.code) == "interrupted"; });
}

JobOutcome run_channels(Engine& engine, const JobRequest& request, const JobWatch& watch) {
  const Clock::time_point begin = Clock::now();
  JobOutcome outcome;
  const std::int32_t channels = request.split ? audio_facts(request.audio).channels : 1;
  if (channels == 1) {
    outcome.transcript = run_channel(engine, request, watch, outcome);
  } else {
    std::vector<Transcript> transcripts;
    JobRequest one = request;
    for (one.audio.channel = 0; one.audio.channel < channels; ++one.audio.channel) {
      transcripts.push_back(run_channel(engine, one, watch, outcome));
      // What the other channels hold was not asked for any more.
      if (has_interruption(transcripts.back())) break;
    }
    outcome.transcript = merge_channels(std::move(transcripts));
  }
  outcome.transcript.source = request.source;
  outcome.is_interrupted = has_interruption(outcome.transcript);
  outcome.wall_s = seconds_since(begin);
  return outcome;
}

}  // namespace

JobOutcome run_job(Engine& engine, const JobRequest& request, const JobWatch& watch) {
  try {
    return run_channels(engine, request, watch);
  } catch (const Error& error) {
    // The engine does not know what its audio is called.
    const std::string what = error.what();
    if (what.starts_with(request.source + ": ")) throw;
    throw Error(error.code(), request.source + ": " + what);
  }
}

Transcript merge_channels(std::vector<Transcript> channels) {
  Transcript merged;
  std::int32_t first_speaker = 0;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    std::int32_t speakers = 0;
    for (Segment& segment : channels[c].segments) {
      if (segment.speaker >= 0) {
        speakers = std::max(speakers, segment.speaker + 1);
        segment.speaker += first_speaker;
      }
      merged.segments.push_back(std::move(segment));
    }
    first_speaker += speakers;
    for (Warning& warning : channels[c].warnings) {
      warning.message = formatted("channel %zu: %s", c, warning.message.c_str());
      merged.warnings.push_back(std::move(warning));
    }
    // The channels last as long as the recording; each was a prompt and an answer of its own.
    merged.usage.audio_s = std::max(merged.usage.audio_s, channels[c].usage.audio_s);
    merged.usage.prompt_tokens += channels[c].usage.prompt_tokens;
    merged.usage.output_tokens += channels[c].usage.output_tokens;
    if (merged.language.empty()) merged.language = channels[c].language;
  }
  std::stable_sort(merged.segments.begin(), merged.segments.end(),
                   [](const Segment& a, const Segment& b) { return a.start_s < b.start_s; });
  merged.text = join_texts(merged.segments);
  return merged;
}

}  // namespace verbatim
