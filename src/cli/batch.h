// All recordings of one run: probed, transcribed a few at a time, each with its end told.
#pragma once

#include <atomic>
#include <vector>

#include "base/error.h"
#include "cli/job.h"
#include "cli/results.h"
#include "cli/stats.h"
#include "cli/terminal.h"

namespace verbatim {

class Batch {
 public:
  // Results and terminal must outlive this. shows_result: segments shown as they are decoded are
  // the result.
  Batch(std::vector<JobRequest> requests, Results& results, Terminal& terminal, bool shows_result);

  // Looks at every recording: what cannot be read fails now, what is there already is skipped.
  // Returns the longest duration, 0 when one is unknown.
  double probe();
  void limit_audio(double most_s);  // what is longer fails while it is read
  std::size_t left() const;         // recordings still to be transcribed
  bool is_over() const { return left() == 0; }

  void run(Engine& engine, int at_once, const WriterOptions& options);

  // 130 interrupted, else 1 failed, 3 warned, 0; one recording alone ends as its error says.
  int exit_code() const;
  std::vector<FileStats> stats() const;

 private:
  enum class State : std::uint8_t { kWaiting, kWhole, kWarned, kInterrupted, kFailed, kSkipped };
  struct Entry {
    JobRequest request;
    State state = State::kWaiting;
    Code code = Code::kInternal;  // of the failure
    FileStats stats;
  };

  void work(Engine& engine, const WriterOptions& options);
  void transcribe(std::size_t index, Engine& engine, const WriterOptions& options);
  void finish(std::size_t index, JobOutcome outcome, std::size_t shown,
              const WriterOptions& options);
  void fail_entry(std::size_t index, const Error& error);
  void skip(std::size_t index);
  // The one place where the error of one recording is kept from the others.
  template <typename Body>
  void guard(std::size_t index, const Body& body);

  std::vector<Entry> entries_;
  Results& results_;
  Terminal& terminal_;
  bool shows_result_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace verbatim
