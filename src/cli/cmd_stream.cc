// verbatim stream: text while the audio still arrives, from a pipe or from a file.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "audio/paced.h"
#include "audio/source.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/exit_codes.h"
#include "cli/live_flags.h"
#include "cli/live_output.h"
#include "cli/live_run.h"
#include "cli/results.h"
#include "cli/terminal.h"
#include "engine/describe.h"
#include "engine/live_pump.h"

namespace verbatim {
namespace {

struct StreamFlags {
  EngineFlags engine;
  std::vector<std::string> audio;
  std::int64_t rate = 0;
  std::string sample_format = "s16le";
  std::int64_t input_channels = 1;
  bool realtime = false;
  std::string ffmpeg = "auto";
  LiveFlags live;
  std::string format = "text";
  bool quiet = false;
};

constexpr const char* kFooter =
    R"(Text appears as it is decided, once per 80 ms of audio; --format jsonl writes an
object per line (docs/jsonl.md). A model that is not live is for 'verbatim
transcribe'. Audio that a pipe delivers is never dropped; where the text falls
more than a second behind it, that is said.

Exit codes:
  0    the audio or the user (Ctrl-C) ended it, and all of it was heard
  1    it failed; the sentence is on stderr
  2    the command line is wrong
  3    as 0, with warnings
  130  interrupted before it began, or a second time

Examples:
  arecord -f S16_LE -r 16000 -t raw | verbatim stream --rate 16000
  ffmpeg -i URL -f wav - | verbatim stream
  verbatim stream --format jsonl meeting.wav
  verbatim stream --realtime --delay-ms 960 meeting.wav
)";

void declare(Flags& flags, StreamFlags& to) {
  flags.rest(to.audio);
  flags.footer(kFooter);
  declare(flags, to.engine);
  flags.section("Audio");
  flags.integer(to.rate, "--rate", "HZ", {4000, 768000},
                "Stdin carries raw PCM of this sample rate. Without it a WAV or FLAC stream.");
  flags.choice(to.sample_format, "--sample-format",
               {"u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw"},
               "Of raw PCM, interleaved.");
  flags.integer(to.input_channels, "--input-channels", "N", {1, 64},
                "Of raw PCM; their mean is heard.");
  flags.toggle(to.realtime, "--realtime",
               "Reads at the speed at which it would be heard, 80 ms at a time, instead of as fast "
               "as the model hears.");
  flags.text(
      to.ffmpeg, "--ffmpeg", "PATH|auto|off",
      "The ffmpeg program for files that are neither WAV, RF64, W64 nor FLAC; auto: the one in "
      "PATH.");
  flags.section("Recognition");
  declare(flags, to.live);
  flags.section("Output");
  flags.choice(
      to.format, "--format", {"text", "jsonl"},
      "text: nothing but what was said. jsonl: text, words with their times, warnings, lag "
      "and the end, an object per line.");
  flags.toggle(to.quiet, "--quiet", "Neither progress nor notices; warnings and errors stay.");
}

void check_flags(const Flags& flags, const StreamFlags& given) {
  if (given.audio.size() > 1)
    fail(Code::kInvalidArgument, "AUDIO: expected one file or '-', found %zu", given.audio.size());
  const bool is_stdin = given.audio.empty() || given.audio[0] == "-";
  for (const char* const name : {"--rate", "--sample-format", "--input-channels"}) {
    const std::string_view origin = flags.origin(name);
    if (origin.empty()) continue;
    if (!is_stdin)
      fail(Code::kInvalidArgument, "%.*s: expected stdin ('-'), whose raw PCM it is about",
           static_cast<int>(origin.size()), origin.data());
    if (given.rate == 0)
      fail(Code::kInvalidArgument, "%.*s: expected --rate with it", static_cast<int>(origin.size()),
           origin.data());
  }
  if (is_stdin && ::isatty(STDIN_FILENO) == 1)
    fail(Code::kInvalidArgument, "stdin is a terminal, expected audio from a pipe or a file");
}

AudioRequest audio_request(const StreamFlags& flags) {
  AudioRequest request;
  request.what = flags.audio.empty() ? "-" : flags.audio[0];
  request.ffmpeg = ffmpeg_program(flags.ffmpeg);
  request.raw = {static_cast<std::int32_t>(flags.rate), sample_format(flags.sample_format),
                 static_cast<std::int32_t>(flags.input_channels)};
  return request;
}

// What can be read again and does not arrive by itself.
bool is_file(const AudioRequest& request) {
  struct stat about {};
  const int found =
      request.what == "-" ? ::fstat(STDIN_FILENO, &about) : ::stat(request.what.c_str(), &about);
  return found != 0 || S_ISREG(about.st_mode) || S_ISDIR(about.st_mode);
}

int stream(const StreamFlags& flags) {
  SessionOptions session;
  apply(flags.live, session);
  AudioRequest request = audio_request(flags);
  const bool is_pipe = !is_file(request);
  Terminal terminal(standard_terminal(flags.quiet));

  EngineOptions options = engine_options(flags.engine, terminal);
  options.expected_options = session;
  const ModelDescription model = describe_model(options);
  if (!model.is_live)
    fail(Code::kUnsupported,
         "%s answers only once the audio has ended: use 'verbatim transcribe' for it",
         options.model.c_str());
  if (request.what != "-" && !is_pipe) audio_facts(request);  // what is wrong is told at once

  const std::unique_ptr<Engine> engine = load_engine(options, terminal);
  std::atomic<bool> end{false};
  request.sample_rate_hz = engine->sample_rate_hz();
  if (is_pipe) request.live_end = &end;
  std::unique_ptr<AudioSource> source = open_audio(request);
  if (flags.realtime) source = paced(std::move(source), real_pace(), end);
  const bool waits = !is_pipe && !flags.realtime;
  const std::unique_ptr<Stream> stream = engine->open("", session, 0);
  const std::unique_ptr<LiveOutput> output = make_live_output(flags.format, standard_live_sink());
  LivePump pump(std::move(source), *stream, end, waits);
  LiveFeed feed;
  if (!waits) feed.arrived_s = [&] { return pump.arrived_s(); };
  feed.heard_s = [&](double seconds) { pump.heard_s(seconds); };
  feed.end = [&] { pump.end(); };
  const Transcript transcript = follow_live(*stream, feed, *output);
  output->end(transcript);
  return live_exit_code(transcript);
}

int run(std::span<const char* const> arguments) {
  StreamFlags given;
  given.engine.preset = kNanoVoxtral;
  Flags flags("verbatim stream [FLAGS] [-|FILE]",
              "Writes what is said while the audio arrives: from stdin, or from a file.");
  declare(flags, given);
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  check_flags(flags, given);
  return stream(given);
}

}  // namespace

const Command kStreamCommand{"stream", "what is said while the audio arrives, for live models",
                             run};

}  // namespace verbatim
