// The samples are written first and the sizes in the header behind them: in between, the file is
// that of the block before with bytes at its end that nobody reads.
#include "audio/wav_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace verbatim {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are written as they stand");

constexpr std::uint64_t kSampleBytes = sizeof(float);
constexpr std::uint64_t kUnknown = 0xFFFFFFFF;  // a size that stands in the ds64 chunk
constexpr std::uint64_t kTagFloat = 3;
constexpr std::size_t kHeaderBytes = 94;

void append_little(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

void append_chunk(std::string& to, std::string_view id, std::uint64_t size) {
  to += id;
  append_little(to, size, 4);
}

}  // namespace

// RIFF, a place for ds64 (EBU Tech 3306), fmt with its extension's size and fact, as everything but
// integers needs them, data.
std::string float_wav_header(std::int32_t sample_rate_hz, std::uint64_t data_bytes) {
  const std::uint64_t riff_bytes = kHeaderBytes - 8 + data_bytes;
  const std::uint64_t samples = data_bytes / kSampleBytes;
  const bool is_wide = riff_bytes >= kUnknown;
  const auto rate = static_cast<std::uint64_t>(sample_rate_hz);
  std::string header;
  append_chunk(header, is_wide ? "RF64" : "RIFF", is_wide ? kUnknown : riff_bytes);
  header += "WAVE";
  append_chunk(header, is_wide ? "ds64" : "JUNK", 28);
  append_little(header, is_wide ? riff_bytes : 0, 8);
  append_little(header, is_wide ? data_bytes : 0, 8);
  append_little(header, is_wide ? samples : 0, 8);
  append_little(header, 0, 4);
  append_chunk(header, "fmt ", 18);
  append_little(header, kTagFloat, 2);
  append_little(header, 1, 2);
  append_little(header, rate, 4);
  append_little(header, rate * kSampleBytes, 4);
  append_little(header, kSampleBytes, 2);
  append_little(header, 8 * kSampleBytes, 2);
  append_little(header, 0, 2);
  append_chunk(header, "fact", 4);
  append_little(header, is_wide ? kUnknown : samples, 4);
  append_chunk(header, "data", is_wide ? kUnknown : data_bytes);
  check(header.size() == kHeaderBytes, "the header has its size");
  return header;
}

WavWriter::WavWriter(std::string path, std::int32_t sample_rate_hz)
    : path_(std::move(path)), sample_rate_hz_(sample_rate_hz) {
  // Not blocking: a FIFO without a reader is refused and not waited for.
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!file_.is_open())
    fail(Code::kIo, "%s: cannot be written: %s", path_.c_str(), system_message(errno).c_str());
  struct stat about {};
  if (::fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode))
    fail(Code::kInvalidArgument, "%s: expected a regular file, whose header can be written anew",
         path_.c_str());
  if (::ftruncate(file_.get(), 0) != 0)
    fail(Code::kIo, "%s: cannot be emptied: %s", path_.c_str(), system_message(errno).c_str());
  const std::string header = float_wav_header(sample_rate_hz_, 0);
  if (!write_at(0, std::as_bytes(std::span(header)))) fail(Code::kIo, "%s", problem_.c_str());
}

bool WavWriter::append(std::span<const float> samples) {
  if (!problem_.empty()) return false;
  if (samples.empty()) return true;
  const std::uint64_t end = kHeaderBytes + data_bytes_;
  if (!write_at(end, std::as_bytes(samples))) {
    // Where even this fails, the header still says where the recording ends.
    (void)!::ftruncate(file_.get(), static_cast<off_t>(end));
    return false;
  }
  const std::string header = float_wav_header(sample_rate_hz_, data_bytes_ + samples.size_bytes());
  if (!write_at(0, std::as_bytes(std::span(header)))) return false;
  data_bytes_ += samples.size_bytes();
  return true;
}

bool WavWriter::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      problem_ = formatted("%s: cannot be written: %s", path_.c_str(),
                           system_message(count < 0 ? errno : ENOSPC).c_str());
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace verbatim
