// verbatim calibrate: statistics of what enters a model's weights, for --calib.
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/exit_codes.h"
#include "cli/inputs.h"
#include "cli/job.h"
#include "cli/results.h"
#include "cli/targets.h"
#include "cli/terminal.h"
#include "engine/calibrate.h"
#include "engine/describe.h"

namespace verbatim {
namespace {

struct CalibrateFlags {
  EngineFlags engine;
  std::vector<std::string> audio;
  std::string ffmpeg = "auto";
  double duration_s = 0;
  std::string output;
  std::string report;
  bool quiet = false;
};

constexpr const char* kFooter =
    R"(The model runs as it is stored, so it has to fit in memory as it is. A few minutes
of speech of the kind that will come are enough. The statistics belong to this
checkpoint: another one refuses them.

The report has a line per weight: the relative error of its outputs in the format
named, over some of the rows that entered it, without and with the statistics.

Exit codes: 0, 1 it failed, 2 the command line is wrong, 130 interrupted; the file is
whole or not there.

Examples:
  verbatim calibrate --model ./VibeVoice-ASR talks/ --output stats.safetensors
  verbatim transcribe --model ./VibeVoice-ASR --quant w8a8 --calib stats.safetensors a.wav
)";

void declare(Flags& flags, CalibrateFlags& to) {
  flags.rest(to.audio);
  flags.footer(kFooter);
  declare_model(flags, to.engine);
  flags.section("Audio");
  flags.text(
      to.ffmpeg, "--ffmpeg", "PATH|auto|off",
      "The ffmpeg program for what is neither WAV, RF64, W64 nor FLAC; auto: the one in PATH.");
  flags.seconds(to.duration_s, "--duration", "Hears no more than this of each recording.");
  flags.section("Report");
  to.engine.quant = to.engine.encoder_quant = "w8a8";
  flags.text(to.engine.quant, "--quant", "FORMAT",
             "Measures the decoder's errors in this format; none leaves them out.");
  flags.text(to.engine.encoder_quant, "--encoder-quant", "FORMAT",
             "The same for the audio encoders.");
  flags.text(to.engine.head_quant, "--head-quant", "FORMAT", "The same for the output head.");
  flags.text(to.report, "--report", "FILE", "Writes the report here instead of to stdout.");
  declare_machine(flags, to.engine);
  flags.section("Output");
  flags.text(to.output, "--output", "FILE", "Where the statistics go, a safetensors file.");
  flags.toggle(to.quiet, "--quiet", "Neither progress nor notices; warnings and errors stay.");
}

void check_flags(const CalibrateFlags& given) {
  if (given.audio.empty())
    fail(Code::kInvalidArgument, "AUDIO: expected a recording or a folder, found nothing");
  if (given.output.empty())
    fail(Code::kInvalidArgument, "--output: expected a file for the statistics, found nothing");
  if (given.engine.quant == "auto")
    fail(Code::kInvalidArgument,
         "--quant: expected a format whose errors are measured, found auto");
}

// Recordings are looked at before they are heard, which a pipe cannot stand.
void check_inputs(const std::vector<Input>& inputs) {
  for (const Input& input : inputs) {
    struct stat about {};
    if (input.path != "-" && (::stat(input.path.c_str(), &about) != 0 || S_ISREG(about.st_mode)))
      continue;
    fail(Code::kInvalidArgument, "AUDIO: expected a file or a folder, found %s",
         input.path.c_str());
  }
}

std::vector<JobRequest> requests_of(const CalibrateFlags& flags, const std::vector<Input>& inputs) {
  JobRequest request;
  request.audio.ffmpeg = ffmpeg_program(flags.ffmpeg);
  request.audio.duration_s = flags.duration_s;
  std::vector<JobRequest> requests;
  for (const Input& input : inputs) {
    request.audio.what = request.source = input.path;
    requests.push_back(request);
  }
  return requests;
}

// Sizes the context for the longest recording, or limits them to what a context can hold.
void size_context(std::vector<JobRequest>& requests, EngineOptions& options) {
  bool is_known = true;
  for (const JobRequest& request : requests) {
    double duration_s = audio_facts(request.audio).duration_s;
    if (request.audio.duration_s > 0 && (duration_s <= 0 || duration_s > request.audio.duration_s))
      duration_s = request.audio.duration_s;
    is_known = is_known && duration_s > 0;
    options.expected_audio_s = std::max(options.expected_audio_s, duration_s);
  }
  if (is_known) return;
  options.expected_audio_s = 0;
  const ModelDescription model = describe_model(options);
  if (model.is_live) return;
  for (JobRequest& request : requests) {
    request.audio.limits.audio_s = static_cast<double>(model.context) / model.audio_tokens_per_s;
  }
}

// Everything that entered the weights while the recordings were heard, one after the other.
std::vector<SeenInput> hear(std::vector<JobRequest> requests, EngineOptions options,
                            Terminal& terminal) {
  options.quant = {};
  options.ranges = true;
  size_context(requests, options);
  const std::unique_ptr<Engine> engine = load_engine(options, terminal);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string& name = requests[i].source;
    const int file = static_cast<int>(i);
    JobWatch watch;
    watch.progress = [&](const Progress& progress) { terminal.progress(file, name, progress); };
    const JobOutcome outcome = run_job(*engine, requests[i], watch);
    if (outcome.is_interrupted || is_interrupted())
      fail(Code::kCancelled, "%s: interrupted; no statistics were written", name.c_str());
    terminal.end(file,
                 formatted("%s: %.2f s of audio", name.c_str(), outcome.transcript.usage.audio_s));
    for (const Warning& warning : outcome.transcript.warnings)
      terminal.message("verbatim: warning: " + name + ": " + warning.message);
  }
  return engine->inputs();
}

std::string report_text(const std::vector<WeightError>& errors) {
  std::string text = "format         plain  smoothed  weight\n";
  double plain = 0, smoothed = 0;
  for (const WeightError& error : errors) {
    text += formatted("%-10s  %8.5f  %8.5f  %s\n", error.format.c_str(), error.plain,
                      error.smoothed, error.name.c_str());
    plain += error.plain;
    smoothed += error.smoothed;
  }
  const double count = static_cast<double>(std::max<std::size_t>(errors.size(), 1));
  return text + formatted("%-10s  %8.5f  %8.5f  of %zu weights\n", "mean", plain / count,
                          smoothed / count, errors.size());
}

int calibrate(const CalibrateFlags& flags) {
  const std::vector<Input> inputs = expand_inputs(flags.audio);
  check_inputs(inputs);
  check_writable("--output", flags.output);
  Targets targets(inputs);
  targets.add("--output", flags.output);
  if (!flags.report.empty()) {
    check_writable("--report", flags.report);
    targets.add("--report", flags.report);
  }
  TerminalSetup setup = standard_terminal(flags.quiet);
  setup.files = static_cast<int>(inputs.size());
  Terminal terminal(std::move(setup));
  EngineOptions options = engine_options(flags.engine, terminal);
  check_smoothed(options.quant);
  describe_model(options);  // refuses what could not be measured, before anything is heard
  const std::vector<SeenInput> seen = hear(requests_of(flags, inputs), options, terminal);

  constexpr int kNoFile = -1;
  options.loading = [&](double share) {
    terminal.progress(kNoFile, options.model, {"load", share, 1, 0});
  };
  // Binding the weights also finds what the recordings never reached, before anything is written.
  const std::vector<WeightError> errors = weight_errors(options, flags.output, seen);
  terminal.leave(kNoFile);
  write_statistics(flags.output, seen);
  const std::string report = report_text(errors);
  if (flags.report.empty()) {
    terminal.aside([&] { write_stdout(report); });
    return kExitWhole;
  }
  AtomicFile file(flags.report);
  file.write(report);
  file.commit();
  return kExitWhole;
}

int run(std::span<const char* const> arguments) {
  CalibrateFlags given;
  Flags flags("verbatim calibrate [FLAGS] --output FILE AUDIO...",
              "Hears recordings with a model as it is stored, writes how large the inputs of its "
              "weights become, and tells what --calib gains by it in formats that round "
              "activations to int8.");
  declare(flags, given);
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  check_flags(given);
  return calibrate(given);
}

}  // namespace

const Command kCalibrateCommand{"calibrate", "statistics by which int8 activations lose less", run};

}  // namespace verbatim
