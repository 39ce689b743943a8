// verbatim transcribe: recordings in, transcripts out.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu_topology.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/batch.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/inputs.h"
#include "cli/model_folder.h"
#include "cli/pipe_copy.h"
#include "cli/results.h"
#include "cli/stats.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "cli/transcribe_flags.h"
#include "engine/describe.h"
#include "engine/dump.h"

namespace verbatim {
namespace {

// Where segments show while they are decoded: on stdout they are the result, beside a result that
// goes elsewhere they are progress.
Live live_place(const TranscribeFlags& flags, const Results& results, std::size_t inputs) {
  if (flags.parallel > 1) return Live::kNone;
  const bool out = ::isatty(STDOUT_FILENO) == 1;
  if (out && inputs == 1 && results.is_lines() && flags.channels != "split") return Live::kOut;
  const bool err = ::isatty(STDERR_FILENO) == 1;
  return err && !flags.quiet && !(out && results.to_stdout()) ? Live::kErr : Live::kNone;
}

// --dump shows one session's tensors, and two would mix.
void check_dump(const TranscribeFlags& flags, std::size_t inputs) {
  if (flags.dump.empty()) return;
  if (inputs != 1)
    fail(Code::kInvalidArgument, "--dump: expected one recording, found %zu", inputs);
  if (flags.channels == "split")
    fail(Code::kInvalidArgument, "--dump: expected --channels mix, found split");
  check_writable("--dump", flags.dump);
}

// What the flags name to be written.
void check_targets(const TranscribeFlags& flags, const std::vector<Input>& inputs,
                   const Results& results) {
  Targets targets(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::string& path : results.paths(i, true))
      targets.add(flags.output_dir.empty() ? "--output" : "--output-dir", path);
  if (!flags.dump.empty()) targets.add("--dump", flags.dump);
  if (!flags.stats_json.empty()) targets.add("--stats-json", flags.stats_json);
}

// Inputs that can be read only once are kept; null for the others.
using Copies = std::vector<std::unique_ptr<PipeCopy>>;

bool is_pipe(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

Copies copy_pipes(const std::vector<Input>& inputs, Terminal& terminal) {
  Copies copies(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& path = inputs[i].path;
    if (path != "-" && !is_pipe(path)) continue;
    copies[i] = std::make_unique<PipeCopy>(path);
    copies[i]->fill([&](std::int64_t) {
      terminal.progress(static_cast<int>(i), copies[i]->name(), {"read", 0, 0, 0});
    });
  }
  return copies;
}

// One request per input, each like `common` but for what it opens.
std::vector<JobRequest> job_requests(const JobRequest& common, const std::vector<Input>& inputs,
                                     const Copies& copies) {
  std::vector<JobRequest> requests;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    JobRequest request = common;
    request.audio.what = request.source = inputs[i].path;
    if (copies[i]) request.audio.file = copies[i]->file();
    if (inputs[i].path == "-") {
      request.source = "stdin";
      // "-" is how raw PCM is told from a file.
      if (common.audio.raw.sample_rate_hz == 0) request.audio.what = "stdin";
    } else {
      request.audio.raw = {};
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

// engine: null when no recording was left for one.
void write_reports(const TranscribeFlags& flags, const RunStats& stats, const Engine* engine,
                   Terminal& terminal) {
  if (flags.stats) terminal.message(stats_text(stats));
  if (flags.profile && engine != nullptr) terminal.message(profile_text(engine->profile()));
  if (flags.stats_json.empty()) return;
  AtomicFile file(flags.stats_json);
  file.write(stats_json(stats));
  file.commit();
}

// What the context can hold: nobody knows how much comes out of another program's decoder. A model
// that hears live holds no more than a window, however much comes.
void limit_audio(Batch& batch, const EngineOptions& options) {
  const ModelDescription model = describe_model(options);
  if (!model.is_live)
    batch.limit_audio(static_cast<double>(model.context) / model.audio_tokens_per_s);
}

void describe_engine(RunStats& stats, const Engine& engine) {
  stats.model = engine.name();
  stats.family = engine.family();
  stats.device = engine.device_name();
  stats.threads = engine.threads();
  stats.memory = engine.memory();
}

int transcribe(const TranscribeFlags& flags) {
  const Clock::time_point begin = Clock::now();
  const std::vector<Input> inputs = expand_inputs(flags.audio);
  // What is wrong with a flag is told before anything is looked for.
  const SessionOptions session = session_options(flags);
  const AudioRequest audio = audio_request(flags);
  check_dump(flags, inputs.size());
  if (!flags.stats_json.empty()) check_writable("--stats-json", flags.stats_json);
  Results results(result_flags(flags), inputs);
  check_targets(flags, inputs, results);
  TerminalSetup setup = standard_terminal(flags.quiet);
  setup.files = static_cast<int>(inputs.size());
  setup.live = live_place(flags, results, inputs.size());
  const bool shows_result = setup.live == Live::kOut;
  Terminal terminal(std::move(setup));

  EngineOptions options = engine_options(flags.engine, terminal);
  const Copies copies = copy_pipes(inputs, terminal);
  Batch batch(job_requests({audio, session, {}, flags.channels == "split", {}}, inputs, copies),
              results, terminal, shows_result);
  options.expected_audio_s = batch.probe();
  RunStats stats;
  const auto finish = [&](const Engine* engine) {
    stats.wall_s = seconds_since(begin);
    stats.peak_memory_bytes = peak_resident_bytes();
    stats.files = batch.stats();
    write_reports(flags, stats, engine, terminal);
    return batch.exit_code();
  };
  if (batch.is_over() || is_interrupted()) return finish(nullptr);
  options.expected_options = session;
  if (options.expected_audio_s <= 0) limit_audio(batch, options);
  options.slots = static_cast<int>(std::min<std::size_t>(flags.parallel, batch.left()));
  options.profile = flags.profile;
  const std::unique_ptr<Dump> dump =
      flags.dump.empty() ? nullptr : Dump::make(flags.dump, flags.dump_filter);
  if (dump) options.tap = dump->tap();

  const Clock::time_point load_begin = Clock::now();
  const std::unique_ptr<Engine> engine = load_engine(options, terminal);
  stats.load_s = seconds_since(load_begin);
  const WriterOptions writing{.model = engine->name(),
                              .temperature = flags.temperature,
                              .max_line_chars = static_cast<std::int32_t>(flags.max_line_chars),
                              .words = true};
  batch.run(*engine, options.slots, writing);
  if (dump && batch.exit_code() != kExitFailed && !is_interrupted()) dump->write();
  describe_engine(stats, *engine);
  return finish(engine.get());
}

int run(std::span<const char* const> arguments) {
  TranscribeFlags given;
  Flags flags("verbatim transcribe [FLAGS] AUDIO...",
              "Writes who said what and when in recordings: files, folders with all below them, or "
              "'-' for stdin.");
  declare(flags, given);
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  check_flags(flags, given);
  return transcribe(given);
}

}  // namespace

const Command kTranscribeCommand{"transcribe", "who said what and when, from recordings", run};

}  // namespace verbatim
