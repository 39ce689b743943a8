// WAV files of every coding, right and wrong.
#include <gtest/gtest.h>

#include <memory>

#include "audio/frames.h"
#include "audio/wav_bytes.h"
#include "base/error.h"

namespace verbatim {
namespace {

struct Contents {
  std::int32_t rate = 0;
  std::int32_t channels = 0;
  std::int64_t frames = 0;
  std::vector<float> samples;  // interleaved
  std::vector<AudioNote> notes;
};

Contents read_all(std::unique_ptr<ByteInput> input, std::size_t frames_at_once = 1000) {
  const std::unique_ptr<FrameReader> reader = open_wav(std::move(input));
  if (!reader) fail(Code::kUnsupported, "not PCM");
  Contents contents{reader->sample_rate_hz(), reader->channels(), reader->frames(), {}, {}};
  const auto channels = static_cast<std::size_t>(reader->channels());
  std::vector<float> block(frames_at_once * channels);
  while (const std::int64_t count = reader->read(block))
    contents.samples.insert(contents.samples.end(), block.begin(),
                            block.begin() + count * reader->channels());
  reader->add_notes(contents.notes);
  return contents;
}

Contents read_all(const std::string& bytes, std::size_t frames_at_once = 1000) {
  return read_all(memory_input(as_bytes(bytes), "clip.wav"), frames_at_once);
}

// The same bytes, a few at a time and without a size, as a pipe gives them.
class DripSupply : public ByteSupply {
 public:
  explicit DripSupply(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min({to.size(), std::size_t{7}, bytes_.size() - position_});
    std::memcpy(to.data(), bytes_.data() + position_, count);
    position_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t position_ = 0;
};

Contents read_pipe(const std::string& bytes) {
  return read_all(std::make_unique<ByteInput>(std::make_unique<DripSupply>(bytes), "stdin"));
}

// The message of the error that reading `bytes` ends in; empty when it does not.
std::string error_of(const std::string& bytes) {
  try {
    read_all(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::string kFourBytes = raw_bytes<std::int16_t>({100, -200});

std::string format_chunk(const WavShape& shape) {
  return chunk_bytes("fmt ", format_bytes(shape));
}

TEST(SourceWav, EveryWidthKeepsItsValue) {
  EXPECT_EQ(read_all(wav_bytes({.bits = 8}, std::string("\x00\x80\xFF", 3))).samples,
            (std::vector<float>{-1, 0, 127 / 128.0F}));
  EXPECT_EQ(read_all(wav_bytes({.bits = 16}, raw_bytes<std::int16_t>({-32768, 1, 32767}))).samples,
            (std::vector<float>{-1, 0x1p-15F, 32767 / 32768.0F}));
  EXPECT_EQ(
      read_all(wav_bytes({.bits = 24}, std::string("\x00\x00\x80\x01\x00\x00\xFF\xFF\x7F", 9)))
          .samples,
      (std::vector<float>{-1, 0x1p-23F, 8388607 / 8388608.0F}));
  EXPECT_EQ(read_all(wav_bytes({.bits = 32}, raw_bytes<std::int32_t>({-2147483647 - 1, 1 << 20})))
                .samples,
            (std::vector<float>{-1, 0x1p-11F}));
  EXPECT_EQ(read_all(wav_bytes({.tag = 3, .bits = 32}, raw_bytes<float>({1.5F, -0.1F}))).samples,
            (std::vector<float>{1.5F, -0.1F}));
  EXPECT_EQ(read_all(wav_bytes({.tag = 3, .bits = 64}, raw_bytes<double>({0.1, -2}))).samples,
            (std::vector<float>{0.1F, -2}));
  // 20 bits lie left in three bytes.
  EXPECT_EQ(read_all(wav_bytes({.bits = 20}, std::string("\x00\x00\x40", 3))).samples,
            (std::vector<float>{0.5F}));
}

TEST(SourceWav, CompandedCodesFollowG711) {
  // Codes of the tables of ITU-T G.711: the extremes, the smallest of either sign, a middle one.
  EXPECT_EQ(
      read_all(wav_bytes({.tag = 7, .bits = 8}, "\x80" + std::string(1, '\0') + "\xFF\x7E\xAA"))
          .samples,
      (std::vector<float>{32124 / 32768.0F, -32124 / 32768.0F, 0, -8 / 32768.0F, 5372 / 32768.0F}));
  EXPECT_EQ(read_all(wav_bytes({.tag = 6, .bits = 8}, "\xAA\x2A\xD5\x55\x80")).samples,
            (std::vector<float>{32256 / 32768.0F, -32256 / 32768.0F, 8 / 32768.0F, -8 / 32768.0F,
                                5504 / 32768.0F}));
}

TEST(SourceWav, ExtensibleNamesItsCodingInTheGuid) {
  for (const std::uint64_t tag : {1, 3}) {
    std::string format = format_bytes({.tag = 0xFFFE, .channels = 2, .bits = 32});
    format += little_bytes(22, 2) + little_bytes(24, 2) + little_bytes(3, 4);
    format += little_bytes(tag, 2) +
              std::string("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 14);
    const std::string data = tag == 3 ? raw_bytes<float>({0.25F, -0.5F})
                                      : raw_bytes<std::int32_t>({1 << 29, -(1 << 30)});
    const Contents contents =
        read_all(riff_bytes(chunk_bytes("fmt ", format) + chunk_bytes("data", data)));
    EXPECT_EQ(contents.channels, 2);
    EXPECT_EQ(contents.samples, (std::vector<float>{0.25F, -0.5F}));
  }
}

TEST(SourceWav, TheEdgesOfRateAndChannelsAreRead) {
  for (const std::uint64_t channels : {1, 2, 63, 64})
    for (const std::uint64_t rate : {4000, 768000}) {
      const std::vector<std::int16_t> frame(channels, 512);
      const Contents contents =
          read_all(wav_bytes({.channels = channels, .rate = rate}, raw_bytes(frame)));
      EXPECT_EQ(contents.rate, static_cast<std::int32_t>(rate));
      EXPECT_EQ(contents.samples, std::vector<float>(channels, 0x1p-6F));
    }
}

TEST(SourceWav, ImpossibleShapesAreRefusedByName) {
  EXPECT_EQ(error_of(wav_bytes({.rate = 0}, kFourBytes)),
            "clip.wav: sample rate 0 Hz, expected 4000 to 768000 Hz");
  EXPECT_EQ(error_of(wav_bytes({.rate = 3999}, kFourBytes)),
            "clip.wav: sample rate 3999 Hz, expected 4000 to 768000 Hz");
  EXPECT_EQ(error_of(wav_bytes({.rate = 0xFFFFFFFF}, kFourBytes)),
            "clip.wav: sample rate 4294967295 Hz, expected 4000 to 768000 Hz");
  EXPECT_EQ(error_of(wav_bytes({.channels = 1000}, kFourBytes)),
            "clip.wav: 1000 channels, expected 1 to 64");
  EXPECT_EQ(error_of(wav_bytes({.channels = 0}, kFourBytes)),
            "clip.wav: 0 channels, expected 1 to 64");
  EXPECT_EQ(error_of(wav_bytes({.channels = 2, .block_align = 3}, kFourBytes)),
            "clip.wav: block align 3, expected 4 for 2 channels of 16 bits");
  EXPECT_EQ(error_of(wav_bytes({.block_align = 0}, kFourBytes)),
            "clip.wav: block align 0, expected 2 for 1 channels of 16 bits");
  EXPECT_EQ(error_of(wav_bytes({.bits = 0}, kFourBytes)),
            "clip.wav: not a whole WAV file: 0 bits per sample");
}

TEST(SourceWav, NoAudioIsRefused) {
  const char* expected = "clip.wav: holds no audio, expected at least one frame of 2 bytes";
  EXPECT_EQ(error_of(wav_bytes({}, "")), expected);
  EXPECT_EQ(error_of(wav_bytes({}, "x")), expected);
  // A length of 0 before whole chunks is meant.
  EXPECT_EQ(error_of(riff_bytes(format_chunk({}) + chunk_bytes("data", "") +
                                chunk_bytes("LIST", "INFOodd"))),
            expected);
  EXPECT_EQ(error_of(riff_bytes(format_chunk({}))),
            "clip.wav: not a whole WAV file: holds no 'data' chunk");
  EXPECT_EQ(error_of(riff_bytes(chunk_bytes("data", kFourBytes))),
            "clip.wav: not a whole WAV file: holds no 'fmt ' chunk");
}

TEST(SourceWav, OneFrameIsAudio) {
  EXPECT_EQ(read_all(wav_bytes({}, raw_bytes<std::int16_t>({16384}))).samples,
            (std::vector<float>{0.5F}));
}

TEST(SourceWav, UnknownLengthsRunToTheEnd) {
  for (const std::uint64_t length : {0x0ULL, 0xFFFFFFFFULL, 0x7FFFF000ULL, 0xFFFFFFDBULL}) {
    const std::string bytes =
        riff_bytes(format_chunk({}) + "data" + little_bytes(length, 4) + kFourBytes);
    const Contents file = read_all(bytes);
    EXPECT_EQ(file.frames, 2);
    EXPECT_EQ(file.samples.size(), 2U);
    EXPECT_TRUE(file.notes.empty()) << length;
    const Contents pipe = read_pipe(bytes);
    EXPECT_EQ(pipe.frames, -1);
    EXPECT_EQ(pipe.samples, file.samples);
    EXPECT_TRUE(pipe.notes.empty()) << length;
  }
}

TEST(SourceWav, LyingLengthsEndWithTheFileAndAreNoted) {
  const std::string bytes =
      riff_bytes(format_chunk({}) + "data" + little_bytes(1000000000, 4) + kFourBytes);
  EXPECT_EQ(read_all(bytes).frames, 2);
  EXPECT_EQ(read_pipe(bytes).frames, -1);
  for (const Contents& contents : {read_all(bytes), read_pipe(bytes)}) {
    EXPECT_EQ(contents.samples.size(), 2U);
    ASSERT_EQ(contents.notes.size(), 1U);
    EXPECT_STREQ(contents.notes[0].code, "audio_truncated");
  }
}

TEST(SourceWav, AFileCutInsideAFrameGivesItsWholeFrames) {
  std::string bytes = wav_bytes({.channels = 2}, raw_bytes<std::int16_t>({1, 2, 3, 4, 5, 6}));
  bytes.resize(bytes.size() - 3);
  for (const Contents& contents : {read_all(bytes), read_pipe(bytes)}) {
    EXPECT_EQ(contents.samples.size(), 4U);
    ASSERT_EQ(contents.notes.size(), 1U);
    EXPECT_STREQ(contents.notes[0].code, "audio_truncated");
  }
}

TEST(SourceWav, PaddingThatTheLengthCountsIsNoCutFrame) {
  const std::string data = std::string(9, 'a') + '\0';
  const std::string wav = wav_bytes({.bits = 24}, data);
  EXPECT_EQ(read_all(wav).samples.size(), 3U);
  EXPECT_TRUE(read_all(wav).notes.empty());
  const std::string unclear = wav_bytes({.bits = 24}, std::string(10, 'a'));
  EXPECT_EQ(read_all(unclear).samples.size(), 3U);
  EXPECT_EQ(read_all(unclear).notes.size(), 1U);
}

TEST(SourceWav, ChunksComeInAnyOrderAndOddOnesArePadded) {
  const std::string junk = chunk_bytes("JUNK", "odd") + chunk_bytes("bext", std::string(700, 'x'));
  const std::string unpadded = std::string("LIST") + little_bytes(5, 4) + "INFOx";
  const std::vector<float> expected{100 / 32768.0F, -200 / 32768.0F};
  EXPECT_EQ(
      read_all(riff_bytes(junk + format_chunk({}) + junk + chunk_bytes("data", kFourBytes) + junk))
          .samples,
      expected);
  EXPECT_EQ(
      read_all(riff_bytes(unpadded + format_chunk({}) + chunk_bytes("data", kFourBytes))).samples,
      expected);
  const std::string data_first =
      riff_bytes(chunk_bytes("data", kFourBytes) + junk + format_chunk({}));
  EXPECT_EQ(read_all(data_first).samples, expected);
  EXPECT_THROW(read_pipe(data_first), Error);
}

TEST(SourceWav, LongFilesTakeTheirLengthFromDs64) {
  const std::string sizes =
      little_bytes(0, 8) + little_bytes(4, 8) + little_bytes(2, 8) + little_bytes(0, 4);
  for (const char* id : {"RF64", "BW64"}) {
    const std::string bytes = id + little_bytes(0xFFFFFFFF, 4) + "WAVE" +
                              chunk_bytes("ds64", sizes) + format_chunk({}) + "data" +
                              little_bytes(0xFFFFFFFF, 4) + kFourBytes + "trailing";
    EXPECT_EQ(read_all(bytes).samples.size(), 2U);
    EXPECT_TRUE(read_all(bytes).notes.empty());
    EXPECT_EQ(read_pipe(bytes).samples.size(), 2U);
  }
}

std::string w64_chunk(const std::string& id, std::uint64_t size, const std::string& body) {
  const std::string tail =
      id == "riff" ? std::string("\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00", 12)
                   : std::string("\xF3\xAC\xD3\x11\x8C\xD1\x00\xC0\x4F\x8E\xDB\x8A", 12);
  std::string bytes = id + tail + little_bytes(size, 8) + body;
  while (bytes.size() % 8 != 0) bytes += '\0';
  return bytes;
}

TEST(SourceWav, W64IsRead) {
  const std::string wave = w64_chunk("wave", 0, "").substr(0, 16);
  const std::string before = w64_chunk("riff", 1000, "") + wave +
                             w64_chunk("fmt ", 24 + 16, format_bytes({})) +
                             w64_chunk("junk", 24 + 3, "abc");
  ASSERT_TRUE(is_wav(*memory_input(as_bytes(before), "clip.w64")));
  EXPECT_EQ(
      read_all(before + w64_chunk("data", 24 + 4, kFourBytes) + w64_chunk("junk", 24 + 3, "abc"))
          .samples.size(),
      2U);
  const std::string endless = before + w64_chunk("data", 0x7FFFFFFFFFFFFFFF, kFourBytes);
  EXPECT_EQ(read_all(endless).samples.size(), 4U);  // w64_chunk pads to eight bytes
  EXPECT_EQ(read_pipe(endless).samples.size(), 4U);
  EXPECT_NE(error_of(before + w64_chunk("data", 23, kFourBytes)), "");
}

TEST(SourceWav, OtherCodingsAreLeftToOthers) {
  for (const std::uint64_t tag : {0x02, 0x11, 0x31, 0x55}) {
    const std::string bytes = wav_bytes({.tag = tag, .bits = 4, .block_align = 256}, kFourBytes);
    EXPECT_EQ(open_wav(memory_input(as_bytes(bytes), "clip.wav")), nullptr);
  }
}

TEST(SourceWav, BlockSizeDoesNotChangeBits) {
  std::vector<std::int16_t> values(9001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int16_t>(i * 7919);
  const std::string bytes = wav_bytes({}, raw_bytes(values));
  const std::vector<float> whole = read_all(bytes, 100000).samples;
  EXPECT_EQ(whole.size(), values.size());
  for (const std::size_t block : {1, 79, 4096}) EXPECT_EQ(read_all(bytes, block).samples, whole);
  EXPECT_EQ(read_pipe(bytes).samples, whole);
}

TEST(SourceWav, EveryTruncationIsReadOrRefused) {
  const std::string bytes =
      riff_bytes(chunk_bytes("JUNK", "odd") + format_chunk({}) + chunk_bytes("fact", "four") +
                 chunk_bytes("data", std::string(64, 'a')));
  for (std::size_t size = 12; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    if (error_of(cut).empty()) {
      EXPECT_EQ(read_all(cut).notes.size(), 1U) << size;
    }
  }
}

}  // namespace
}  // namespace verbatim
