// Declares every flag of `verbatim transcribe` and turns them into requests.
#include "cli/transcribe_flags.h"

#include <algorithm>

#include "base/error.h"
#include "transcript/language.h"

namespace verbatim {
namespace {

constexpr double kMostSeed = 9.3e18;  // above every 64-bit integer

constexpr const char* kFooter =
    R"(Without --quiet, progress goes to stderr; stdout carries results alone, and only
whole ones. A warning says what to doubt in a result that was delivered.

Exit codes:
  0    every result is whole
  1    a recording failed; its sentence is on stderr
  2    the command line is wrong
  3    delivered, with warnings
  130  interrupted: Ctrl-C delivers what was recognised, a second one does not

Examples:
  verbatim transcribe meeting.wav
  verbatim transcribe --model ./VibeVoice-ASR --format srt --output talk.srt talk.mp3
  verbatim transcribe --format json,vtt --output-dir out --skip-existing recordings/
  verbatim transcribe --channels split --hotwords Grafana,Kubernetes call.wav
  arecord -f S16_LE -r 16000 -d 10 -t raw | verbatim transcribe --rate 16000 -
)";

void declare_audio(Flags& flags, TranscribeFlags& to) {
  flags.section("Audio");
  flags.choice(to.channels, "--channels", {"mix", "split"},
               "mix: the mean of all channels. split: each channel on its own, merged by time, the "
               "speakers of each numbered behind those of the channels before it.");
  flags.seconds(to.start_s, "--start",
                "Skips this much of the recording: seconds, mm:ss, hh:mm:ss.");
  flags.seconds(to.duration_s, "--duration", "Transcribes no more than this.");
  flags.text(
      to.ffmpeg, "--ffmpeg", "PATH|auto|off",
      "The ffmpeg program for what is neither WAV, RF64, W64 nor FLAC; auto: the one in PATH.");
  flags.integer(to.rate, "--rate", "HZ", {4000, 768000},
                "Stdin ('-') carries raw PCM of this sample rate.");
  flags.choice(to.sample_format, "--sample-format",
               {"u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw"},
               "Of raw PCM, interleaved.");
  flags.integer(to.input_channels, "--input-channels", "N", {1, 64}, "Of raw PCM.");
}

void declare_recognition(Flags& flags, TranscribeFlags& to) {
  flags.section("Recognition");
  flags.list(to.hotwords, "--hotwords", "A,B", "Names and terms that are likely to be heard.");
  flags.text(to.context, "--context", "TEXT", "What the recording is about.");
  flags.text(
      to.language, "--language", "NAME",
      "An ISO-639 code, a BCP-47 tag or an English name; it is written into the formats that "
      "name a language.");
  flags.choice(
      to.tail, "--tail", {"ms", "hf"},
      "How the last frame is padded: as the original code or as Hugging Face's. Without it "
      "as the checkpoint's layout.");
  flags.choice(to.acoustic_sampling, "--acoustic-sampling", {"mode", "fix", "gaussian"},
               "How the acoustic latent is drawn: its mean, or with noise.");
  flags.integer(to.seed, "--seed", "N", {0, kMostSeed}, "Of everything that is drawn at random.");
  flags.number(to.temperature, "--temperature", "T", {0, 2}, "0: the most likely token, always.");
  flags.number(to.top_p, "--top-p", "P", {0, 1, true},
               "With a temperature: draws among the likeliest tokens that have this share.");
  flags.integer(to.max_new_tokens, "--max-new-tokens", "N", {1, 1 << 30},
                "Ends the answer after so many tokens. Without it as many as the audio can hold.");
  declare(flags, to.live);
}

void declare_output(Flags& flags, TranscribeFlags& to) {
  flags.section("Output");
  flags.list(to.formats, "--format", "NAME,...",
             "One or several of text, json, verbose_json, diarized_json, srt, vtt, tsv, rttm, ctm. "
             "Without it stdout gets a line per segment with times and speaker, files get text.");
  flags.text(to.output, "--output", "FILE",
             "Writes the result here instead of to stdout; several formats add their extensions.");
  flags.text(to.output_dir, "--output-dir", "DIR",
             "Writes a file per recording and format below DIR, which is made; no two recordings "
             "share a name.");
  flags.toggle(to.skip_existing, "--skip-existing",
               "Leaves out recordings whose results are there already.");
  flags.integer(to.max_line_chars, "--max-line-chars", "N", {8, 1000},
                "Characters of a subtitle line; a cue has two at most.");
  flags.integer(to.parallel, "--parallel", "N", {1, 256},
                "Recordings at once. No result depends on it.");
  flags.section("Reports");
  flags.toggle(to.quiet, "--quiet", "Neither progress nor notices; warnings and errors stay.");
  flags.toggle(to.stats, "--stats", "Prints times, tokens, speed and memory to stderr.");
  flags.text(to.stats_json, "--stats-json", "FILE", "Writes the same as JSON.");
  flags.toggle(to.profile, "--profile", "Prints the time of every operation to stderr.");
  flags.text(to.dump, "--dump", "FILE",
             "Writes every named tensor of one recording to a safetensors file.");
  flags.text(to.dump_filter, "--dump-filter", "GLOB", "Of these, the ones whose name matches.");
}

}  // namespace

void declare(Flags& flags, TranscribeFlags& to) {
  flags.rest(to.audio);
  flags.footer(kFooter);
  declare(flags, to.engine);
  declare_audio(flags, to);
  declare_recognition(flags, to);
  declare_output(flags, to);
}

void check_flags(const Flags& flags, const TranscribeFlags& given) {
  if (given.audio.empty())
    fail(Code::kInvalidArgument, "AUDIO: expected a recording, a folder or '-', found nothing");
  const bool has_stdin =
      std::find(given.audio.begin(), given.audio.end(), "-") != given.audio.end();
  for (const char* const name : {"--rate", "--sample-format", "--input-channels"}) {
    const std::string_view origin = flags.origin(name);
    if (origin.empty()) continue;
    if (!has_stdin)
      fail(Code::kInvalidArgument,
           "%.*s: expected '-' among the recordings: it is about raw PCM on stdin",
           static_cast<int>(origin.size()), origin.data());
    if (given.rate == 0)
      fail(Code::kInvalidArgument, "%.*s: expected --rate with it", static_cast<int>(origin.size()),
           origin.data());
  }
  if (!flags.origin("--duration").empty() && given.duration_s == 0)
    fail(Code::kInvalidArgument, "--duration: expected more than 0 s");
  if (!given.dump_filter.empty() && given.dump.empty())
    fail(Code::kInvalidArgument, "--dump-filter: expected --dump with it");
}

SessionOptions session_options(const TranscribeFlags& flags) {
  SessionOptions options;
  if (!flags.language.empty()) options.language = language_name(flags.language);
  options.context = flags.context;
  options.hotwords = flags.hotwords;
  options.temperature = flags.temperature;
  options.top_p = flags.top_p;
  options.seed = static_cast<std::uint64_t>(flags.seed);
  options.max_output_tokens = flags.max_new_tokens;
  if (flags.acoustic_sampling == "fix") options.acoustic_sampling = AcousticSampling::kFix;
  if (flags.acoustic_sampling == "gaussian")
    options.acoustic_sampling = AcousticSampling::kGaussian;
  if (flags.tail == "ms") options.tail = Tail::kMs;
  if (flags.tail == "hf") options.tail = Tail::kHf;
  apply(flags.live, options);
  return options;
}

ResultFlags result_flags(const TranscribeFlags& flags) {
  return {flags.formats, flags.output, flags.output_dir, flags.skip_existing};
}

AudioRequest audio_request(const TranscribeFlags& flags) {
  AudioRequest request;
  request.start_s = flags.start_s;
  request.duration_s = flags.duration_s;
  request.ffmpeg = ffmpeg_program(flags.ffmpeg);
  request.raw = {static_cast<std::int32_t>(flags.rate), sample_format(flags.sample_format),
                 static_cast<std::int32_t>(flags.input_channels)};
  return request;
}

}  // namespace verbatim
