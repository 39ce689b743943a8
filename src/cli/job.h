// One recording from its file to its transcript.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "audio/source.h"
#include "engine/engine.h"
#include "transcript/event.h"
#include "transcript/options.h"

namespace verbatim {

struct JobRequest {
  AudioRequest audio;  // the rate is the model's
  SessionOptions options;
  std::string source;  // the recording's name in the formats that carry one
  bool split = false;  // each channel on its own
  std::string spool_folder;
};

// Called while the job runs, on its thread.
struct JobWatch {
  std::function<void(const Progress&)> progress;
  std::function<void(const Segment&)> segment;  // not when channels are split
};

struct JobOutcome {
  Transcript transcript;
  SessionStats stats;  // summed over the channels
  double read_s = 0;   // spent on audio of unknown length before its session could begin
  double wall_s = 0;
  bool is_interrupted = false;
};

// Throws what the audio, the engine or the session failed with, and kCancelled when the user
// interrupts before a session began. An interrupt during the session ends it early and still
// returns what was recognised, with its warning.
JobOutcome run_job(Engine& engine, const JobRequest& request, const JobWatch& watch);

// Joins the transcripts of a recording's channels: segments by start time (those of one channel in
// their order), speakers of channel c behind all of the channels before it, tokens summed.
Transcript merge_channels(std::vector<Transcript> channels);

}  // namespace verbatim
