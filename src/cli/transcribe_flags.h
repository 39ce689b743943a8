// The flags of `verbatim transcribe` and what they become.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audio/source.h"
#include "cli/engine_flags.h"
#include "cli/flags.h"
#include "cli/live_flags.h"
#include "cli/results.h"
#include "transcript/options.h"

namespace verbatim {

struct TranscribeFlags {
  EngineFlags engine;
  std::vector<std::string> audio;

  std::string channels = "mix";
  double start_s = 0;
  double duration_s = 0;
  std::string ffmpeg = "auto";
  std::int64_t rate = 0;
  std::string sample_format = "s16le";
  std::int64_t input_channels = 1;

  std::vector<std::string> hotwords;
  std::string context;
  std::string language;
  std::string tail;
  std::string acoustic_sampling = "mode";
  std::int64_t seed = 0;
  double temperature = 0;
  double top_p = 1;
  std::int64_t max_new_tokens = 0;
  LiveFlags live;

  std::vector<std::string> formats;
  std::string output;
  std::string output_dir;
  bool skip_existing = false;
  std::int64_t max_line_chars = 42;
  std::int64_t parallel = 1;

  bool quiet = false;
  bool stats = false;
  std::string stats_json;
  bool profile = false;
  std::string dump;
  std::string dump_filter;
};

void declare(Flags& flags, TranscribeFlags& to);

// Throws kInvalidArgument for flags that contradict each other or the arguments.
void check_flags(const Flags& flags, const TranscribeFlags& given);

SessionOptions session_options(const TranscribeFlags& flags);
ResultFlags result_flags(const TranscribeFlags& flags);
// Without what is to be opened.
AudioRequest audio_request(const TranscribeFlags& flags);

}  // namespace verbatim
