// verbatim mic: text while somebody speaks into a microphone.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "audio/microphone.h"
#include "audio/source_alsa.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/exit_codes.h"
#include "cli/heard_source.h"
#include "cli/live_flags.h"
#include "cli/live_output.h"
#include "cli/live_run.h"
#include "cli/results.h"
#include "cli/terminal.h"
#include "cli/utterance_run.h"
#include "engine/describe.h"
#include "engine/live_pump.h"

namespace verbatim {
namespace {

struct MicFlags {
  EngineFlags engine;
  std::string device = "default";
  bool list_devices = false;
  std::string save_audio;
  double max_utterance_s = 30;
  LiveFlags live;
  std::string format = "text";
  bool quiet = false;
};

constexpr const char* kFooter =
    R"(A live model's text appears as it is decided, once per 80 ms. A model that is not
live hears one utterance after the other, each as soon as a pause has ended it,
while recording goes on; it numbers the speakers of each anew. A microphone that
goes away is asked for every second until it is back; what was missed is a
warning.

Exit codes:
  0    the user (Ctrl-C) ended it, and all of it was heard
  1    it failed: there is no such microphone, no model; the sentence is on stderr
  2    the command line is wrong
  3    as 0, with warnings
  130  interrupted before it began, or a second time

Examples:
  verbatim mic --model ./Voxtral-Mini-4B-Realtime
  verbatim mic --list-devices
  verbatim mic --device hw:1,0 --save-audio talk.wav --format jsonl
  verbatim mic --model nano-vibevoice --max-utterance 10
)";

void declare(Flags& flags, MicFlags& to) {
  flags.footer(kFooter);
  declare(flags, to.engine);
  flags.section("Microphone");
  flags.text(to.device, "--device", "NAME", "The microphone, as --list-devices or ALSA's hw:1,0.");
  flags.toggle(to.list_devices, "--list-devices", "Prints the devices that ALSA knows, and ends.");
  flags.text(to.save_audio, "--save-audio", "FILE.wav",
             "Keeps what was heard, to the bit, as 32-bit floats at the model's rate. The file is "
             "whole at any moment.");
  flags.number(to.max_utterance_s, "--max-utterance", "SECONDS", {1, 3600},
               "Of a model that is not live: speech without a pause is cut where it is quietest "
               "before this.");
  flags.section("Recognition");
  declare(flags, to.live);
  flags.section("Output");
  flags.choice(
      to.format, "--format", {"text", "jsonl"},
      "text: nothing but what was said. jsonl: text, words with their times, warnings, lag "
      "and the end, an object per line.");
  flags.toggle(to.quiet, "--quiet",
               "Neither level meter nor progress nor notices; warnings and errors stay.");
}

void print_devices() {
  const CaptureNames names = list_alsa();
  if (!names.problem.empty()) fail(Code::kNotFound, "%s", names.problem.c_str());
  std::string text;
  for (const CaptureName& device : names.devices) {
    text += device.name + "\n";
    if (!device.description.empty()) text += "    " + device.description + "\n";
  }
  write_stdout(text);
}

double steady_s() {
  return seconds_since(Clock::time_point());
}

// What is the same for both kinds of models. The terminal's line is drawn by the thread that
// listens, the text by the one that follows.
class Listening {
 public:
  Listening(const MicFlags& flags, std::int32_t sample_rate_hz)
      : flags_(flags),
        sample_rate_hz_(sample_rate_hz),
        sink_(standard_live_sink()),
        meter_({place(), [](std::string_view text) { (void)write_all(STDERR_FILENO, text); },
                steady_s, [] { return standard_terminal().columns; }}) {
    OpenedCapture opened = open_alsa(flags.device, sample_rate_hz);
    if (!opened.device) fail(Code::kNotFound, "%s", opened.problem.c_str());
    device_ = std::move(opened.device);
  }

  std::string notice() const {
    const RawFormat format = device_->format();
    return formatted("listening to '%s' (%d Hz, %d channel%s); Ctrl-C ends it",
                     flags_.device.c_str(), format.sample_rate_hz, format.channels,
                     format.channels == 1 ? "" : "s");
  }

  std::unique_ptr<LiveOutput> output() {
    LiveSink aside = sink_;
    aside.out = [this](std::string_view text) { meter_.aside([&] { sink_.out(text); }); };
    aside.message = [this](std::string_view line) { say(line); };
    return make_live_output(flags_.format, std::move(aside));
  }

  // warn: called by the thread that reads the source.
  std::unique_ptr<AudioSource> source(std::function<void(const Warning&)> warn) {
    MicrophoneSetup setup;
    setup.sample_rate_hz = sample_rate_hz_;
    setup.open = [this] { return open_alsa(flags_.device, sample_rate_hz_); };
    setup.gone = [this](const std::string& reason) {
      say(formatted("%sverbatim: the microphone is away (%s) and asked for every second",
                    sink_.is_one_screen ? "\n" : "", reason.c_str()));
    };
    setup.gap = [warn](const CaptureGap& gap) {
      warn({"audio_gap",
            formatted("%.1f s are missing at %.1f s of the audio: %s", gap.length_s, gap.at_s,
                      gap.was_away ? "the microphone was away" : "they were not taken in time"),
            gap.at_s, gap.at_s});
    };
    setup.end = &end_;
    setup.now_s = steady_s;
    setup.pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
    std::unique_ptr<WavWriter> file;
    if (!flags_.save_audio.empty())
      file = std::make_unique<WavWriter>(flags_.save_audio, sample_rate_hz_);
    return std::make_unique<HeardSource>(
        std::make_unique<Microphone>(std::move(device_), std::move(setup)), std::move(file), meter_,
        std::move(warn));
  }

  std::atomic<bool>& end() { return end_; }

 private:
  MeterPlace place() const {
    if (flags_.quiet || ::isatty(STDERR_FILENO) != 1) return MeterPlace::kNone;
    return sink_.is_one_screen ? MeterPlace::kBelow : MeterPlace::kHere;
  }

  void say(std::string_view line) {
    meter_.aside([&] { sink_.message(line); });
  }

  const MicFlags& flags_;
  std::int32_t sample_rate_hz_;
  LiveSink sink_;
  LevelMeter meter_;
  std::unique_ptr<CaptureDevice> device_;
  std::atomic<bool> end_{false};
};

Transcript hear_live(Engine& engine, const SessionOptions& session, Listening& listening,
                     LiveOutput& output) {
  const std::unique_ptr<Stream> stream = engine.open("", session, 0);
  LivePump pump(listening.source([&](const Warning& warning) { stream->warn(warning); }), *stream,
                listening.end(), false);
  return follow_live(*stream,
                     {[&] { return pump.arrived_s(); },
                      [&](double seconds) { pump.heard_s(seconds); }, [&] { pump.end(); }},
                     output);
}

Transcript hear_utterances(Engine& engine, const SessionOptions& session, double max_utterance_s,
                           Listening& listening, LiveOutput& output) {
  UtteranceQueue queue(engine.sample_rate_hz());
  UtteranceRun run;
  run.source = listening.source([&](const Warning& warning) { queue.warn(warning); });
  run.end = &listening.end();
  run.max_utterance_s = max_utterance_s;
  run.open = [&](double audio_s) { return engine.open("", session, audio_s); };
  return follow_utterances(std::move(run), queue, output);
}

int mic(const MicFlags& flags) {
  if (flags.list_devices) {
    print_devices();
    return kExitWhole;
  }
  SessionOptions session;
  apply(flags.live, session);
  if (!flags.save_audio.empty()) check_writable("--save-audio", flags.save_audio);
  Terminal terminal(standard_terminal(flags.quiet));

  EngineOptions options = engine_options(flags.engine, terminal);
  options.expected_options = session;
  const ModelDescription model = describe_model(options);
  if (!model.is_live) options.expected_audio_s = flags.max_utterance_s;
  // Before the model is loaded, which may take a while.
  Listening listening(flags, model.sample_rate_hz);

  const std::unique_ptr<Engine> engine = load_engine(options, terminal);
  terminal.notice(listening.notice());
  const std::unique_ptr<LiveOutput> output = listening.output();
  const Transcript transcript =
      model.is_live ? hear_live(*engine, session, listening, *output)
                    : hear_utterances(*engine, session, flags.max_utterance_s, listening, *output);
  output->end(transcript);
  return live_exit_code(transcript);
}

int run(std::span<const char* const> arguments) {
  MicFlags given;
  given.engine.preset = kNanoVoxtral;
  Flags flags("verbatim mic [FLAGS]", "Writes what is said into a microphone while it is said.");
  declare(flags, given);
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  return mic(given);
}

}  // namespace

const Command kMicCommand{"mic", "what is said into a microphone", run};

}  // namespace verbatim
