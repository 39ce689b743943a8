#include "cli/transcribe_flags.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace verbatim {
namespace {

struct Read {
  TranscribeFlags given;
  std::string refusal;
};

Read read(const std::vector<const char*>& arguments) {
  Read made;
  Flags flags("verbatim transcribe", "");
  declare(flags, made.given);
  try {
    flags.read(arguments);
    check_flags(flags, made.given);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    made.refusal = error.what();
  }
  return made;
}

TEST(TranscribeFlags, OptionsOfASessionAreWhatTheFlagsSay) {
  const Read made = read({"a.wav",
                          "--hotwords",
                          "x, y",
                          "--hotwords",
                          "z",
                          "--context",
                          "a talk",
                          "--language",
                          "DE",
                          "--tail",
                          "hf",
                          "--acoustic-sampling",
                          "gaussian",
                          "--seed",
                          "9223372036854775807",
                          "--temperature",
                          "0.5",
                          "--top-p",
                          "0.9",
                          "--max-new-tokens",
                          "7"});
  ASSERT_EQ(made.refusal, "");
  const SessionOptions options = session_options(made.given);
  EXPECT_EQ(options.hotwords, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(options.context, "a talk");
  EXPECT_EQ(options.language, "german");
  EXPECT_EQ(options.tail, Tail::kHf);
  EXPECT_EQ(options.acoustic_sampling, AcousticSampling::kGaussian);
  EXPECT_EQ(options.seed, 9223372036854775807u);
  EXPECT_EQ(options.temperature, 0.5);
  EXPECT_EQ(options.top_p, 0.9);
  EXPECT_EQ(options.max_output_tokens, 7);
}

TEST(TranscribeFlags, NothingAskedIsTheDefaultOfASession) {
  const SessionOptions options = session_options(read({"a.wav"}).given);
  const SessionOptions preset;
  EXPECT_EQ(options.tail, preset.tail);
  EXPECT_EQ(options.acoustic_sampling, preset.acoustic_sampling);
  EXPECT_EQ(options.temperature, preset.temperature);
  EXPECT_EQ(options.max_output_tokens, preset.max_output_tokens);
}

TEST(TranscribeFlags, RawPcmIsDescribedByThreeFlags) {
  const Read made = read({"-", "--rate", "8000", "--sample-format", "alaw", "--input-channels", "2",
                          "--ffmpeg", "off", "--start", "1:00", "--duration", "2"});
  ASSERT_EQ(made.refusal, "");
  const AudioRequest request = audio_request(made.given);
  EXPECT_EQ(request.raw.sample_rate_hz, 8000);
  EXPECT_EQ(request.raw.format, SampleFormat::kALaw);
  EXPECT_EQ(request.raw.channels, 2);
  EXPECT_EQ(request.ffmpeg, "");
  EXPECT_EQ(request.start_s, 60);
  EXPECT_EQ(request.duration_s, 2);
}

TEST(TranscribeFlags, EverySampleFormatThatIsListedExists) {
  for (const char* const name :
       {"u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw"})
    EXPECT_EQ(read({"-", "--rate", "8000", "--sample-format", name}).refusal, "") << name;
}

TEST(TranscribeFlags, ContradictionsNameTheFlag) {
  EXPECT_EQ(read({}).refusal.rfind("AUDIO: ", 0), 0u);
  EXPECT_EQ(read({"a.wav", "--rate", "8000"}).refusal.rfind("--rate: ", 0), 0u);
  EXPECT_EQ(read({"-", "--input-channels", "2"}).refusal.rfind("--input-channels: ", 0), 0u);
  EXPECT_EQ(read({"a.wav", "--dump-filter", "x"}).refusal.rfind("--dump-filter: ", 0), 0u);
  EXPECT_EQ(read({"a.wav", "--duration", "0"}).refusal.rfind("--duration: ", 0), 0u);
}

}  // namespace
}  // namespace verbatim
