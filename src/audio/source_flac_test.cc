// FLAC files made by libFLAC's encoder, whole and broken.
#include <FLAC/stream_encoder.h>
#include <gtest/gtest.h>

#include <memory>

#include "audio/frames.h"
#include "audio/wav_bytes.h"
#include "base/error.h"

namespace verbatim {
namespace {

FLAC__StreamEncoderWriteStatus append(const FLAC__StreamEncoder*, const FLAC__byte bytes[],
                                      std::size_t count, std::uint32_t, std::uint32_t,
                                      void* client) {
  static_cast<std::string*>(client)->append(reinterpret_cast<const char*>(bytes), count);
  return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}

struct Coding {
  std::uint32_t channels = 1;
  std::uint32_t bits = 16;
  std::uint32_t rate = 16000;
  bool in_ogg = false;
  bool says_length = true;
};

std::string encode(const Coding& coding, const std::vector<FLAC__int32>& interleaved) {
  std::string bytes;
  FLAC__StreamEncoder* encoder = FLAC__stream_encoder_new();
  FLAC__stream_encoder_set_channels(encoder, coding.channels);
  FLAC__stream_encoder_set_bits_per_sample(encoder, coding.bits);
  FLAC__stream_encoder_set_sample_rate(encoder, coding.rate);
  FLAC__stream_encoder_set_streamable_subset(encoder, 0);
  FLAC__stream_encoder_set_blocksize(encoder, 256);
  if (coding.says_length)
    FLAC__stream_encoder_set_total_samples_estimate(encoder, interleaved.size() / coding.channels);
  const FLAC__StreamEncoderInitStatus status =
      coding.in_ogg
          ? FLAC__stream_encoder_init_ogg_stream(encoder, nullptr, append, nullptr, nullptr,
                                                 nullptr, &bytes)
          : FLAC__stream_encoder_init_stream(encoder, append, nullptr, nullptr, nullptr, &bytes);
  EXPECT_EQ(status, FLAC__STREAM_ENCODER_INIT_STATUS_OK);
  EXPECT_TRUE(FLAC__stream_encoder_process_interleaved(
      encoder, interleaved.data(),
      static_cast<std::uint32_t>(interleaved.size() / coding.channels)));
  EXPECT_TRUE(FLAC__stream_encoder_finish(encoder));
  FLAC__stream_encoder_delete(encoder);
  return bytes;
}

// Values of `bits` bits, its extremes among them.
std::vector<FLAC__int32> values_of(std::uint32_t bits, std::size_t count) {
  std::vector<FLAC__int32> values(count);
  std::uint32_t state = 5;
  for (FLAC__int32& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<std::int32_t>(state) >> (32 - bits);
  }
  const auto most = static_cast<FLAC__int32>((std::uint32_t{1} << (bits - 1)) - 1);
  values[0] = most;
  values[1] = -most - 1;
  return values;
}

struct Contents {
  std::int64_t frames = 0;
  std::vector<float> samples;
  std::vector<AudioNote> notes;
};

Contents read_all(const std::string& bytes, std::size_t frames_at_once = 1000) {
  const std::unique_ptr<FrameReader> reader = open_flac(memory_input(as_bytes(bytes), "clip.flac"));
  Contents contents{reader->frames(), {}, {}};
  std::vector<float> block(frames_at_once * static_cast<std::size_t>(reader->channels()));
  while (const std::int64_t count = reader->read(block))
    contents.samples.insert(contents.samples.end(), block.begin(),
                            block.begin() + count * reader->channels());
  reader->add_notes(contents.notes);
  return contents;
}

std::string error_of(const std::string& bytes) {
  try {
    read_all(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return error.what();
  }
  return "";
}

TEST(SourceFlac, EveryWidthKeepsItsValue) {
  for (const std::uint32_t bits : {4, 8, 12, 16, 20, 24, 32}) {
    const std::vector<FLAC__int32> values = values_of(bits, 3000);
    const Contents contents = read_all(encode({.bits = bits}, values));
    ASSERT_EQ(contents.samples.size(), values.size()) << bits;
    EXPECT_EQ(contents.frames, 3000);
    EXPECT_TRUE(contents.notes.empty());
    const double scale = 1.0 / static_cast<double>(std::uint64_t{1} << (bits - 1));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(contents.samples[i], static_cast<float>(values[i] * scale)) << bits << " " << i;
  }
}

TEST(SourceFlac, ChannelsStayInOrder) {
  for (const std::uint32_t channels : {2, 8}) {
    const std::vector<FLAC__int32> values = values_of(16, 1000 * channels);
    const Contents contents = read_all(encode({.channels = channels}, values));
    ASSERT_EQ(contents.samples.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(contents.samples[i], static_cast<float>(values[i]) / 32768);
  }
}

TEST(SourceFlac, ItIsKnownInItsThreeWrappings) {
  const std::vector<FLAC__int32> values = values_of(16, 1000);
  const std::string plain = encode({}, values);
  const std::string tagged =
      std::string("ID3\x04\0\0\0\0\x01\x02", 10) + std::string(130, 't') + plain;
  const std::string ogg = encode({.in_ogg = true}, values);
  for (const std::string& bytes : {plain, tagged, ogg}) {
    EXPECT_TRUE(is_flac(*memory_input(as_bytes(bytes), "clip.flac")));
    EXPECT_EQ(read_all(bytes).samples, read_all(plain).samples);
  }
  EXPECT_FALSE(is_flac(*memory_input(as_bytes(std::string("fLa")), "clip.flac")));
  EXPECT_FALSE(is_flac(*memory_input(as_bytes(tagged.substr(0, 100)), "clip.flac")));
}

TEST(SourceFlac, AnUnknownLengthRunsToTheEnd) {
  // Without a way back the encoder leaves the length as it was announced.
  const Contents contents = read_all(encode({.says_length = false}, values_of(16, 1000)));
  EXPECT_EQ(contents.frames, -1);
  EXPECT_EQ(contents.samples.size(), 1000U);
  EXPECT_TRUE(contents.notes.empty());
}

TEST(SourceFlac, ACutFileGivesItsWholeBlocksAndANote) {
  const std::string bytes = encode({}, values_of(16, 3000));
  const Contents contents = read_all(bytes.substr(0, bytes.size() / 2));
  EXPECT_GT(contents.samples.size(), 1000U);
  EXPECT_LT(contents.samples.size(), 3000U);
  EXPECT_EQ(contents.samples.size() % 256, 0U);
  ASSERT_EQ(contents.notes.size(), 1U);
  EXPECT_STREQ(contents.notes[0].code, "audio_truncated");
}

TEST(SourceFlac, BrokenFilesAreRefusedByName) {
  const std::string bytes = encode({}, values_of(16, 3000));
  std::string broken = bytes;
  for (std::size_t i = 0; i < 40; ++i) broken[bytes.size() / 2 + i] ^= 0x5A;
  EXPECT_EQ(error_of(broken).substr(0, 37), "clip.flac: not a whole FLAC file: FLA");
  EXPECT_EQ(error_of("fLaC, said the text, and said no more"),
            "clip.flac: not a whole FLAC file: no STREAMINFO names its sample rate");
  EXPECT_EQ(error_of(bytes.substr(0, 60)), "clip.flac: holds no audio");
  EXPECT_NE(error_of(bytes.substr(0, 20)), "");
}

TEST(SourceFlac, WhatFollowsTheLastBlockIsNoLoss) {
  const std::string bytes = encode({}, values_of(16, 1000));
  const Contents contents = read_all(bytes + "TAG" + std::string(125, 'x'));
  EXPECT_EQ(contents.samples.size(), 1000U);
  EXPECT_TRUE(contents.notes.empty());
}

TEST(SourceFlac, BlockSizeDoesNotChangeBits) {
  const std::string bytes = encode({.channels = 2}, values_of(16, 4000));
  const std::vector<float> whole = read_all(bytes, 10000).samples;
  for (const std::size_t block : {1, 79, 300}) EXPECT_EQ(read_all(bytes, block).samples, whole);
}

}  // namespace
}  // namespace verbatim
