// Runs the recordings of a command line and keeps the books about them.
#include "cli/batch.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "base/utf8.h"
#include "cli/exit_codes.h"

namespace verbatim {
namespace {

// What of a file of `duration_s` (0: unknown) will be transcribed; 0: unknown.
double asked_s(double duration_s, const AudioRequest& request) {
  if (duration_s <= 0) return request.duration_s;
  const double behind_start = std::max(duration_s - request.start_s, 0.0);
  return request.duration_s > 0 ? std::min(behind_start, request.duration_s) : behind_start;
}

// Names of files may hold anything, line ends too.
std::string shown_line(std::string_view text) {
  return shown_name(text, text.size());
}

std::string warning_line(const std::string& source, const Warning& warning) {
  std::string line =
      "verbatim: warning: " + shown_line(source) + ": " + warning.message + " (" + warning.code;
  if (warning.end_s > warning.start_s)
    line += formatted(", %.2f - %.2f s", warning.start_s, warning.end_s);
  return line + ")";
}

std::string end_line(const std::string& source, const JobOutcome& outcome) {
  const double audio_s = outcome.transcript.usage.audio_s;
  std::string line = formatted("%s: %.2f s of audio in %.2f s", shown_line(source).c_str(), audio_s,
                               outcome.wall_s);
  // How much of the audio an interrupted session has seen is not known.
  if (outcome.wall_s > 0 && !outcome.is_interrupted)
    line += formatted(", %.1fx real time", audio_s / outcome.wall_s);
  return line;
}

}  // namespace

Batch::Batch(std::vector<JobRequest> requests, Results& results, Terminal& terminal,
             bool shows_result)
    : entries_(requests.size()),
      results_(results),
      terminal_(terminal),
      shows_result_(shows_result) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    entries_[i].stats.file = requests[i].source;
    entries_[i].request = std::move(requests[i]);
  }
}

template <typename Body>
void Batch::guard(std::size_t index, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    fail_entry(index, error);
  } catch (const std::bad_alloc&) {
    fail_entry(index, Error(Code::kExhausted, entries_[index].request.source + ": out of memory"));
  } catch (const std::system_error& error) {
    fail_entry(index, Error(Code::kExhausted, entries_[index].request.source +
                                                  ": a thread cannot be started: " + error.what()));
  }
}

double Batch::probe() {
  double longest_s = 0;
  bool is_unknown = false;
  for (std::size_t i = 0; i < entries_.size() && !is_interrupted(); ++i) {
    if (results_.is_there(i)) {
      skip(i);
      continue;
    }
    // Once one length is unknown the others do not matter, and a look may start a program.
    if (is_unknown) continue;
    guard(i, [&] {
      const AudioRequest& audio = entries_[i].request.audio;
      const double duration_s = asked_s(audio_facts(audio).duration_s, audio);
      longest_s = std::max(longest_s, duration_s);
      is_unknown = duration_s <= 0;
    });
  }
  return is_unknown ? 0 : longest_s;
}

void Batch::limit_audio(double most_s) {
  for (Entry& entry : entries_) entry.request.audio.limits.audio_s = most_s;
}

std::size_t Batch::left() const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [](const Entry& entry) { return entry.state == State::kWaiting; }));
}

void Batch::run(Engine& engine, int at_once, const WriterOptions& options) {
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < at_once; ++i) others.emplace_back([&] { work(engine, options); });
  } catch (const std::system_error& error) {
    // Fewer at once give the same results.
    terminal_.message(formatted("verbatim: %zu recordings at once instead of %d: %s",
                                others.size() + 1, at_once, error.what()));
  }
  work(engine, options);
  for (std::thread& other : others) other.join();
  if (const std::size_t waiting = left(); waiting > 0 && is_interrupted())
    terminal_.message(formatted("verbatim: interrupted with %zu of %zu recordings not begun",
                                waiting, entries_.size()));
}

void Batch::work(Engine& engine, const WriterOptions& options) {
  for (;;) {
    const std::size_t index = next_++;
    if (index >= entries_.size() || is_interrupted() || results_.is_lost()) return;
    if (entries_[index].state != State::kWaiting) continue;
    guard(index, [&] { transcribe(index, engine, options); });
  }
}

void Batch::transcribe(std::size_t index, Engine& engine, const WriterOptions& options) {
  const JobRequest& request = entries_[index].request;
  const int file = static_cast<int>(index);
  std::size_t shown = 0;
  JobWatch watch;
  watch.progress = [&](const Progress& progress) {
    terminal_.progress(file, request.source, progress);
  };
  watch.segment = [&](const Segment& segment) {
    terminal_.segment(segment);
    ++shown;
  };
  JobOutcome outcome = run_job(engine, request, watch);
  finish(index, std::move(outcome), shown, options);
}

void Batch::finish(std::size_t index, JobOutcome outcome, std::size_t shown,
                   const WriterOptions& options) {
  Entry& entry = entries_[index];
  const Transcript& transcript = outcome.transcript;
  entry.stats.audio_s = transcript.usage.audio_s;
  entry.stats.read_s = outcome.read_s;
  entry.stats.wall_s = outcome.wall_s;
  entry.stats.session = outcome.stats;
  if (shows_result_) {
    for (; shown < transcript.segments.size(); ++shown)
      terminal_.segment(transcript.segments[shown]);
    results_.pass_over(index);
  } else {
    terminal_.aside([&] { results_.deliver(index, transcript, options, !outcome.is_interrupted); });
  }
  if (outcome.is_interrupted) {
    entry.state = State::kInterrupted;
    entry.stats.outcome = "interrupted";
  } else {
    entry.state = transcript.warnings.empty() ? State::kWhole : State::kWarned;
    entry.stats.outcome = transcript.warnings.empty() ? "whole" : "warned";
  }
  terminal_.end(static_cast<int>(index), end_line(entry.request.source, outcome));
  for (const Warning& warning : transcript.warnings)
    terminal_.message(warning_line(entry.request.source, warning));
}

void Batch::fail_entry(std::size_t index, const Error& error) {
  Entry& entry = entries_[index];
  entry.state = error.code() == Code::kCancelled ? State::kInterrupted : State::kFailed;
  entry.code = error.code();
  entry.stats.outcome = entry.state == State::kInterrupted ? "interrupted" : "failed";
  terminal_.end(static_cast<int>(index), "");
  terminal_.message("verbatim: " + shown_line(error.what()));
  if (!results_.is_lost()) results_.pass_over(index);
}

void Batch::skip(std::size_t index) {
  Entry& entry = entries_[index];
  entry.state = State::kSkipped;
  entry.stats.outcome = "skipped";
  terminal_.end(static_cast<int>(index),
                shown_line(entry.request.source) + ": skipped, its results are there");
}

int Batch::exit_code() const {
  const auto any = [&](State state) {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.state == state; });
  };
  if (any(State::kInterrupted) || (is_interrupted() && any(State::kWaiting)))
    return kExitInterrupted;
  if (entries_.size() == 1 && any(State::kFailed)) return verbatim::exit_code(entries_[0].code);
  if (any(State::kFailed)) return kExitFailed;
  return any(State::kWarned) ? kExitWarned : kExitWhole;
}

std::vector<FileStats> Batch::stats() const {
  std::vector<FileStats> all;
  for (const Entry& entry : entries_) all.push_back(entry.stats);
  return all;
}

}  // namespace verbatim
