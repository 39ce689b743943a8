// Recordings are read back while they are written.
#include "audio/wav_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "audio/source.h"
#include "audio/wav_header.h"
#include "base/file.h"
#include "base/scratch_folder.h"

namespace verbatim {
namespace {

std::vector<float> read_back(const std::string& path, std::int32_t rate_hz) {
  AudioRequest request;
  request.what = path;
  const std::unique_ptr<AudioSource> source = open_audio(request);
  EXPECT_EQ(source->sample_rate_hz(), rate_hz);
  EXPECT_EQ(source->channels(), 1);
  std::vector<float> all;
  std::vector<float> block(777);
  while (const std::size_t count = source->read(block))
    all.insert(all.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  EXPECT_TRUE(source->notes().empty());
  return all;
}

std::vector<float> samples(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 0.1234567F * static_cast<float>(i % 9) - 0.5F;
  return values;
}

TEST(WavWriter, TheFileIsWholeAfterEachBlock) {
  const ScratchFolder folder;
  const std::string path = folder.path("heard.wav");
  WavWriter writer(path, 24000);
  const std::vector<float> all = samples(5000);
  std::size_t written = 0;
  for (const std::size_t size : {1u, 1999u, 3000u}) {
    ASSERT_TRUE(writer.append(std::span(all).subspan(written, size)));
    written += size;
    EXPECT_EQ(read_file(path, 100000).substr(0, 94), float_wav_header(24000, written * 4));
    const std::vector<float> back = read_back(path, 24000);
    EXPECT_EQ(back,
              std::vector<float>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(written)));
  }
}

TEST(WavWriter, WhatStoodThereIsGone) {
  const ScratchFolder folder;
  const std::string path = folder.write("heard.wav", std::string(100000, 'x'));
  WavWriter writer(path, 16000);
  ASSERT_TRUE(writer.append(samples(10)));
  EXPECT_EQ(std::filesystem::file_size(path), 94u + 40u);
  EXPECT_EQ(read_back(path, 16000).size(), 10u);
}

TEST(WavWriter, BytesBehindTheLastBlockAreNotRead) {
  const ScratchFolder folder;
  const std::string path = folder.path("heard.wav");
  WavWriter writer(path, 16000);
  ASSERT_TRUE(writer.append(samples(10)));
  // As when the program is killed between the samples and their header.
  std::ofstream(path, std::ios::binary | std::ios::app) << std::string(64, 'x');
  EXPECT_EQ(read_back(path, 16000), samples(10));
}

TEST(WavWriter, BeyondFourGigabytesItIsRf64) {
  const ScratchFolder folder;
  for (const std::uint64_t bytes : {std::uint64_t{400}, (std::uint64_t{1} << 32) - 100,
                                    std::uint64_t{1} << 32, std::uint64_t{5} << 30}) {
    const std::string header = float_wav_header(16000, bytes);
    EXPECT_EQ(header.substr(0, 4), bytes > (std::uint64_t{1} << 32) - 100 ? "RF64" : "RIFF");
    const std::string path = folder.write("long.wav", header);
    // A hole, which takes no room on the disk.
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(header.size() + bytes)), 0);
    const std::unique_ptr<ByteInput> input = open_input(path, -1);
    const std::optional<WavHeader> read = read_wav_header(*input);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->data_bytes.value_or(0), bytes);
    EXPECT_EQ(read->sample_rate_hz, 16000);
    EXPECT_EQ(read->format, SampleFormat::kF32);
    EXPECT_FALSE(read->truncated);
  }
}

TEST(WavWriter, ADiskThatIsFullLeavesTheBlocksBefore) {
  const ScratchFolder folder;
  const std::string path = folder.path("heard.wav");
  WavWriter writer(path, 16000);
  ASSERT_TRUE(writer.append(samples(1000)));
  // A file that may not grow answers as a full disk does.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 5000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool has_room = writer.append(samples(1000));
  const bool has_later = writer.append(samples(1));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(has_room);
  EXPECT_FALSE(has_later);
  EXPECT_TRUE(contains(writer.problem(), path)) << writer.problem();
  EXPECT_EQ(read_back(path, 16000), samples(1000));
  EXPECT_EQ(std::filesystem::file_size(path), 94u + 4000u);
}

TEST(WavWriter, WhatIsNoRegularFileIsRefused) {
  const ScratchFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(contains(message_of(Code::kIo, [&] { WavWriter(pipe, 16000); }), pipe));
  EXPECT_TRUE(contains(message_of(Code::kInvalidArgument, [&] { WavWriter("/dev/null", 16000); }),
                       "regular file"));
  const std::string missing = folder.path("no/heard.wav");
  EXPECT_TRUE(contains(message_of(Code::kIo, [&] { WavWriter(missing, 16000); }), missing));
}

}  // namespace
}  // namespace verbatim
