// What open_audio does to every container alike: channels, start, duration, notes, rates.
#include "audio/source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <memory>

#include "audio/wav_bytes.h"
#include "base/error.h"
#include "base/interrupt.h"

namespace verbatim {
namespace {

// A file without a name that holds `bytes`.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : file_(memfd_create("audio", MFD_CLOEXEC)) {
    if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) file_ = -1;
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  AudioRequest request() const {
    AudioRequest request;
    request.what = "clip.wav";
    request.file = file_;
    return request;
  }

 private:
  int file_;
};

std::vector<float> samples_of(AudioSource& source, std::size_t block_size = 1000) {
  std::vector<float> samples;
  std::vector<float> block(block_size);
  while (const std::size_t count = source.read(block))
    samples.insert(samples.end(), block.begin(),
                   block.begin() + static_cast<std::ptrdiff_t>(count));
  return samples;
}

std::string error_of(const AudioRequest& request) {
  try {
    samples_of(*open_audio(request));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// 1000 frames at 8 kHz of three channels: the frame's index, its negative, and 300.
std::string three_channels() {
  std::vector<std::int16_t> values;
  for (std::int16_t i = 0; i < 1000; ++i) {
    values.push_back(i);
    values.push_back(static_cast<std::int16_t>(-i));
    values.push_back(300);
  }
  return wav_bytes({.channels = 3, .rate = 8000}, raw_bytes(values));
}

TEST(Source, TheMeanOrOneChannelIsRead) {
  const MemoryFile file(three_channels());
  AudioRequest request = file.request();
  EXPECT_EQ(open_audio(request)->channels(), 3);
  EXPECT_EQ(samples_of(*open_audio(request)), std::vector<float>(1000, 100 / 32768.0F));
  request.channel = 1;
  const std::vector<float> second = samples_of(*open_audio(request));
  ASSERT_EQ(second.size(), 1000U);
  EXPECT_EQ(second[999], -999 / 32768.0F);
  request.channel = 3;
  EXPECT_EQ(error_of(request), "clip.wav: channel 3 was asked for, but it has 3 (from 0)");
}

TEST(Source, FactsComeBeforeAChoiceOfChannels) {
  const MemoryFile file(three_channels());
  const AudioFacts facts = audio_facts(file.request());
  EXPECT_EQ(facts.sample_rate_hz, 8000);
  EXPECT_EQ(facts.channels, 3);
  EXPECT_EQ(facts.duration_s, 0.125);
}

TEST(Source, StartAndDurationCutAtTheFilesOwnRate) {
  const MemoryFile file(three_channels());
  AudioRequest request = file.request();
  request.channel = 0;
  request.start_s = 0.05;
  request.duration_s = 0.025;
  const std::unique_ptr<AudioSource> source = open_audio(request);
  EXPECT_EQ(source->duration_s(), 0.025);
  const std::vector<float> samples = samples_of(*source, 77);
  ASSERT_EQ(samples.size(), 200U);
  EXPECT_EQ(samples.front(), 400 / 32768.0F);
  EXPECT_EQ(samples.back(), 599 / 32768.0F);
  request.duration_s = 9;
  EXPECT_EQ(open_audio(request)->duration_s(), 0.075);
  EXPECT_EQ(samples_of(*open_audio(request)).size(), 600U);
}

TEST(Source, AStartBeyondTheEndIsRefused) {
  const MemoryFile file(three_channels());
  AudioRequest request = file.request();
  request.start_s = 0.125;
  EXPECT_EQ(error_of(request), "clip.wav: the start at 0.125 s is beyond its end at 0.12 s");
  request.start_s = 100;
  EXPECT_EQ(error_of(request), "clip.wav: the start at 100 s is beyond its end at 0.12 s");
  request.start_s = -1;
  EXPECT_NE(error_of(request), "");
  request.start_s = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(error_of(request), "");
}

TEST(Source, SamplesThatAreNoNumbersAreZeroAndNoted) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const MemoryFile file(
      wav_bytes({.tag = 3, .bits = 32}, raw_bytes<float>({0.5F, nan, inf, -inf, 1e38F, -0.5F})));
  const std::unique_ptr<AudioSource> source = open_audio(file.request());
  EXPECT_EQ(samples_of(*source), (std::vector<float>{0.5F, 0, 0, 0, 0, -0.5F}));
  ASSERT_EQ(source->notes().size(), 1U);
  EXPECT_STREQ(source->notes()[0].code, "audio_not_finite");
  EXPECT_EQ(source->notes()[0].what, "4 samples are NaN or infinite and were taken as 0");
}

TEST(Source, BlockSizeDoesNotChangeBits) {
  const MemoryFile file(three_channels());
  AudioRequest request = file.request();
  request.channel = 0;
  for (const std::int32_t rate : {8000, 24000, 16000, 7001}) {
    request.sample_rate_hz = rate;
    const std::vector<float> whole = samples_of(*open_audio(request), 100000);
    EXPECT_EQ(whole.size(), static_cast<std::size_t>((1000 * rate + 7999) / 8000));
    for (const std::size_t block : {1, 79, 640})
      EXPECT_EQ(samples_of(*open_audio(request), block), whole) << rate << " " << block;
  }
}

TEST(Source, MoreAudioThanTheLimitIsRefused) {
  const MemoryFile file(three_channels());
  AudioRequest request = file.request();
  request.limits.audio_s = 0.1;
  EXPECT_EQ(error_of(request), "clip.wav: more than 0.1 s of audio, the most that is read");
  request.duration_s = 0.1;
  EXPECT_EQ(error_of(request), "");
}

TEST(Source, PathsThatAreNoFilesAreRefusedByName) {
  AudioRequest request;
  request.what = "no/such/clip.wav";
  EXPECT_EQ(error_of(request), "no/such/clip.wav: cannot be opened: No such file or directory");
  request.what = "src/audio";
  EXPECT_EQ(error_of(request), "src/audio: is a folder, expected an audio file");
}

TEST(Source, ContentDecidesAndNotTheName) {
  const MemoryFile text("Dear diary, today I renamed you to clip.wav.\n");
  EXPECT_EQ(error_of(text.request()),
            "clip.wav: neither WAV, RF64, W64 nor FLAC; other formats are read through an ffmpeg "
            "program, and none was found");
  const MemoryFile adpcm(wav_bytes({.tag = 2, .bits = 4, .block_align = 256}, "0123456789"));
  EXPECT_EQ(error_of(adpcm.request()),
            "clip.wav: a WAV file whose coding is not PCM; other formats are read through an "
            "ffmpeg program, and none was found");
  const MemoryFile empty("");
  EXPECT_EQ(error_of(empty.request()), "clip.wav: holds no audio: it is empty");
  const MemoryFile renamed(three_channels());
  AudioRequest request = renamed.request();
  request.what = "clip.mp3";
  EXPECT_EQ(error_of(request), "");
}

// The reading end of a pipe that holds `bytes` and ends.
int pipe_with(const std::string& bytes) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  if (write(ends[1], bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return -1;
  close(ends[1]);
  return ends[0];
}

TEST(Source, RawSamplesComeThroughAPipe) {
  AudioRequest request;
  request.what = "-";
  request.raw = {.sample_rate_hz = 16000, .format = SampleFormat::kF32, .channels = 2};
  request.file = pipe_with(raw_bytes<float>({0.5F, 0.25F, -1, 1, 0.125F}));
  const std::unique_ptr<AudioSource> source = open_audio(request);
  EXPECT_EQ(source->duration_s(), 0);
  EXPECT_EQ(samples_of(*source), (std::vector<float>{0.375F, 0}));
  ASSERT_EQ(source->notes().size(), 1U);
  EXPECT_STREQ(source->notes()[0].code, "audio_truncated");
  close(request.file);

  request.file = pipe_with("");
  EXPECT_EQ(error_of(request), "stdin: holds no audio");
  close(request.file);
  request.raw.channels = 65;
  request.file = pipe_with("");
  EXPECT_EQ(error_of(request), "stdin: 65 channels, expected 1 to 64");
  close(request.file);
}

TEST(Source, AnInterruptEndsTheWaitForAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  AudioRequest request;
  request.what = "-";
  request.raw.sample_rate_hz = 16000;
  request.file = ends[0];
  const std::unique_ptr<AudioSource> source = open_audio(request);
  std::vector<float> block(100);
  ASSERT_EQ(write(ends[1], "abcd", 4), 4);
  EXPECT_EQ(source->read(block), 2U);  // what is there, without waiting for more
  set_interrupted(true);
  EXPECT_THROW(source->read(block), Error);
  set_interrupted(false);
  close(ends[0]);
  close(ends[1]);
}

// A pipe whose writing end the test holds, read as live audio.
class LivePipe {
 public:
  explicit LivePipe(std::int32_t rate) {
    if (pipe(ends_) != 0) ends_[0] = ends_[1] = -1;
    request_.what = "-";
    request_.raw.sample_rate_hz = rate;
    request_.sample_rate_hz = 16000;
    request_.file = ends_[0];
    request_.live_end = &end_;
    source_ = open_audio(request_);
  }
  ~LivePipe() {
    set_interrupted(false);
    close(ends_[0]);
    hang_up();
  }
  LivePipe(const LivePipe&) = delete;
  LivePipe& operator=(const LivePipe&) = delete;
  void say(std::string_view bytes) const {
    ASSERT_EQ(write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  std::size_t read() {
    std::vector<float> block(1 << 14);
    const std::size_t count = source_->read(block);
    heard.insert(heard.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  AudioSource& source() { return *source_; }
  void end() { end_ = true; }
  std::vector<float> heard;

 private:
  int ends_[2];
  std::atomic<bool> end_{false};
  AudioRequest request_;
  std::unique_ptr<AudioSource> source_;
};

std::string ramp(std::int16_t count) {
  std::vector<std::int16_t> values;
  for (std::int16_t i = 0; i < count; ++i)
    values.push_back(static_cast<std::int16_t>(i * 37 % 3001));
  return raw_bytes(values);
}

TEST(Source, LiveAudioIsDeliveredAsItArrives) {
  LivePipe pipe(16000);
  const std::string bytes = ramp(1000);
  std::size_t at = 0;
  std::size_t samples = 0;
  for (const std::size_t count : {2U, 1U, 1U, 7U, 500U, 1489U}) {
    pipe.say(std::string_view(bytes).substr(at, count));
    at += count;
    // A read would wait for the other half of a sample.
    if (at / 2 > samples) {
      EXPECT_EQ(pipe.read(), at / 2 - samples);
    }
    samples = at / 2;
  }
  pipe.hang_up();
  EXPECT_EQ(pipe.read(), 0U);
  ASSERT_EQ(pipe.heard.size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i)
    ASSERT_EQ(pipe.heard[i], static_cast<float>(i * 37 % 3001) / 32768.0F);
  EXPECT_TRUE(pipe.source().notes().empty());
}

TEST(Source, PiecesChangeNoSampleOfLiveAudio) {
  const std::string bytes = ramp(20000);
  LivePipe whole(44100);
  whole.say(bytes);
  whole.hang_up();
  while (whole.read() > 0) {
  }
  LivePipe pieces(44100);
  for (std::size_t at = 0; at < bytes.size(); at += 3000) {
    pieces.say(std::string_view(bytes).substr(at, 3000));
    pieces.read();
  }
  pieces.hang_up();
  while (pieces.read() > 0) {
  }
  EXPECT_EQ(whole.heard.size(), 7257U);
  EXPECT_EQ(pieces.heard, whole.heard);
}

TEST(Source, LiveAudioThatEndsInsideASampleLosesOnlyThat) {
  LivePipe pipe(16000);
  pipe.say("abcde");
  pipe.hang_up();
  EXPECT_EQ(pipe.read(), 2U);
  EXPECT_EQ(pipe.read(), 0U);
  ASSERT_EQ(pipe.source().notes().size(), 1U);
  EXPECT_STREQ(pipe.source().notes()[0].code, "audio_truncated");
}

TEST(Source, LiveAudioEndsWhereItIsToldToThoughThePipeSaysNothing) {
  LivePipe pipe(16000);
  pipe.say("abcd");
  EXPECT_EQ(pipe.read(), 2U);
  pipe.say("efgh");
  pipe.end();
  EXPECT_EQ(pipe.read(), 2U) << "what has arrived by then is heard";
  EXPECT_EQ(pipe.read(), 0U);
  pipe.say("ijkl");
  EXPECT_EQ(pipe.read(), 0U);
  EXPECT_TRUE(pipe.source().notes().empty());
  LivePipe other(16000);
  set_interrupted(true);
  EXPECT_EQ(other.read(), 0U) << "an interrupt ends it too, even before the first sample";
}

TEST(Source, LiveAudioMayBeEmptyAndHasNoLimit) {
  LivePipe pipe(16000);
  pipe.hang_up();
  EXPECT_EQ(pipe.read(), 0U);
  AudioRequest request;
  const std::atomic<bool> end{false};
  request.what = "-";
  request.raw.sample_rate_hz = 16000;
  request.limits.audio_s = 0.001;
  request.live_end = &end;
  request.file = pipe_with(ramp(100));
  EXPECT_EQ(samples_of(*open_audio(request)).size(), 100U);
  close(request.file);
}

TEST(Source, AWavComesThroughAPipe) {
  AudioRequest request;
  request.what = "-";
  request.file = pipe_with(three_channels());
  request.start_s = 0.0625;
  EXPECT_EQ(samples_of(*open_audio(request)), std::vector<float>(500, 100 / 32768.0F));
  close(request.file);
  request.file = pipe_with("neither this nor that");
  EXPECT_EQ(
      error_of(request),
      "stdin: neither WAV, RF64, W64 nor FLAC, which is all that is read from a pipe; for raw "
      "PCM give its rate");
  close(request.file);
}

TEST(Source, SampleFormatsAreKnownByName) {
  EXPECT_EQ(sample_format("s24le"), SampleFormat::kS24);
  EXPECT_EQ(sample_format("mulaw"), SampleFormat::kMuLaw);
  EXPECT_THROW(sample_format("s16be"), Error);
}

}  // namespace
}  // namespace verbatim
