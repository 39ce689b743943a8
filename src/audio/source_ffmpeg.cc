// Everything else through an ffmpeg program in a cage, which prints a WAV of unknown length.
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "audio/child_process.h"
#include "audio/frames.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace verbatim {
namespace {

constexpr std::size_t kMostErrorBytes = 4096;
constexpr int kInterruptPollMs = 100;
// What it can be asked to read: no playlists, no concatenation, no image sequences, which would
// name other files and addresses.
constexpr const char* kDemuxers =
    "aac,aiff,amr,amrnb,amrwb,asf,au,caf,flac,loas,matroska,webm,mov,mp4,m4a,3gp,mp3,mpeg,mpegts,"
    "ogg,w64,wav";

std::vector<std::string> ffmpeg_arguments(const std::string& program, double most_s) {
  // One thread each: a thread per core would reserve more address space than the cage has.
  return {program,
          "-nostdin",
          "-hide_banner",
          "-v",
          "error",
          "-protocol_whitelist",
          "file",
          "-format_whitelist",
          kDemuxers,
          "-threads",
          "1",
          "-filter_threads",
          "1",
          "-i",
          "/dev/fd/3",
          "-map",
          "0:a:0",
          "-vn",
          "-sn",
          "-dn",
          "-t",
          formatted("%.0f", most_s + 1),
          "-c:a",
          "pcm_f32le",
          "-f",
          "wav",
          "pipe:1"};
}

class FfmpegSupply : public ByteSupply {
 public:
  FfmpegSupply(const AudioRequest& request, int input_file)
      : name_(request.what),
        most_bytes_(request.limits.decoded_bytes),
        stall_s_(request.limits.stall_s),
        child_(ffmpeg_arguments(request.ffmpeg, request.limits.audio_s), input_file,
               {.cpu_s = 2 * request.limits.audio_s}) {}

  std::size_t read(std::span<std::byte> to) override {
    const Clock::time_point begin = Clock::now();
    for (;;) {
      pollfd waiting[2] = {{child_.output(), POLLIN, 0},
                           {has_errors_ended_ ? -1 : child_.errors(), POLLIN, 0}};
      if (poll(waiting, 2, kInterruptPollMs) > 0) {
        if (waiting[1].revents != 0) read_errors();
        if (waiting[0].revents != 0) {
          const ssize_t count = ::read(child_.output(), to.data(), to.size());
          if (count >= 0) return counted(static_cast<std::size_t>(count));
          if (errno != EINTR)
            fail(Code::kIo, "%s: ffmpeg: reading failed: %s", name(),
                 system_message(errno).c_str());
        }
      }
      if (is_interrupted()) fail(Code::kCancelled, "%s: interrupted", name());
      fail_when_stalled(begin, "said nothing");
    }
  }

  // Behind the last byte: all is well only if ffmpeg says so by its exit status.
  void finish() override {
    const Clock::time_point begin = Clock::now();
    while (!has_errors_ended_) {
      pollfd waiting{child_.errors(), POLLIN, 0};
      if (poll(&waiting, 1, kInterruptPollMs) > 0) read_errors();
      if (child_.has_ended(0)) break;
      fail_when_stalled(begin, "did not end");
    }
    if (!child_.has_ended(stall_s_)) fail_when_stalled({}, "did not end");
    while (!has_errors_ended_ && has_errors_ready()) read_errors();
    const int status = child_.status();
    if (!errors_.empty()) log(Level::kInfo, "%s: ffmpeg: %s", name(), errors_.c_str());
    if (WIFSIGNALED(status))
      fail(Code::kCorrupt, "%s: ffmpeg was stopped by signal %d (%s)", name(), WTERMSIG(status),
           first_error().c_str());
    if (WEXITSTATUS(status) != 0)
      fail(Code::kCorrupt, "%s: ffmpeg cannot decode it (exit status %d): %s", name(),
           WEXITSTATUS(status), first_error().c_str());
  }

 private:
  const char* name() const { return name_.c_str(); }

  std::size_t counted(std::size_t count) {
    bytes_ += static_cast<std::int64_t>(count);
    if (most_bytes_ > 0 && bytes_ > most_bytes_)
      fail(Code::kExhausted, "%s: decodes to more than %lld bytes, the most that is read", name(),
           static_cast<long long>(most_bytes_));
    return count;
  }

  void fail_when_stalled(Clock::time_point begin, const char* what) {
    if (seconds_since(begin) < stall_s_) return;
    child_.kill();
    fail(Code::kIo, "%s: ffmpeg %s for %g s and was stopped", name(), what, stall_s_);
  }

  bool has_errors_ready() const {
    pollfd waiting{child_.errors(), POLLIN, 0};
    return poll(&waiting, 1, 0) > 0;
  }

  // Keeps the first 4 KiB and drops the rest, so that the pipe never fills.
  void read_errors() {
    char bytes[4096];
    const ssize_t count = ::read(child_.errors(), bytes, sizeof bytes);
    if (count == 0) has_errors_ended_ = true;
    if (count > 0)
      errors_.append(bytes, std::min(static_cast<std::size_t>(count),
                                     kMostErrorBytes - std::min(kMostErrorBytes, errors_.size())));
  }

  // The first line, without what is ffmpeg's own business: its name for the input, addresses of its
  // parts ("[mp3 @ 0x5581...]"), the list of formats.
  std::string first_error() const {
    std::string_view line = std::string_view(errors_).substr(0, errors_.find('\n'));
    constexpr std::string_view kOwnName = "/dev/fd/3: ";
    if (line.starts_with(kOwnName)) line.remove_prefix(kOwnName.size());
    std::string text(line.empty() ? "it gave no reason" : line);
    if (const std::size_t address = text.find(" @ 0x"); address != std::string::npos)
      text.erase(address, std::min(text.find(']', address), text.size()) - address);
    constexpr std::string_view kNotListed = "Format not on whitelist";
    if (const std::size_t found = text.find(kNotListed); found != std::string::npos)
      text.resize(found + kNotListed.size());
    for (char& character : text)
      if (static_cast<unsigned char>(character) < 0x20) character = ' ';
    return text;
  }

  std::string name_;
  std::int64_t most_bytes_;
  std::int64_t bytes_ = 0;
  double stall_s_;
  std::string errors_;
  bool has_errors_ended_ = false;
  ChildProcess child_;
};

std::unique_ptr<ByteSupply> start_ffmpeg(const AudioRequest& request) {
  if (request.file >= 0) return std::make_unique<FfmpegSupply>(request, request.file);
  const Descriptor file = open_to_read(request.what);
  return std::make_unique<FfmpegSupply>(request, file.get());
}

}  // namespace

std::unique_ptr<FrameReader> open_ffmpeg(const AudioRequest& request) {
  auto input = std::make_unique<ByteInput>(start_ffmpeg(request), request.what);
  if (!is_wav(*input)) {
    if (input->peek(1).empty()) input->finish();
    fail(Code::kCorrupt, "%s: %s printed no WAV", request.what.c_str(), request.ffmpeg.c_str());
  }
  std::unique_ptr<FrameReader> reader = open_wav(std::move(input));
  if (!reader)
    fail(Code::kCorrupt, "%s: %s printed a WAV that is not PCM", request.what.c_str(),
         request.ffmpeg.c_str());
  return reader;
}

std::string find_ffmpeg(std::string_view path_variable) {
  while (!path_variable.empty()) {
    const std::string_view folder = path_variable.substr(0, path_variable.find(':'));
    path_variable.remove_prefix(std::min(path_variable.size(), folder.size() + 1));
    // An empty folder means the current one, where a program that came with the audio could lie.
    if (folder.empty() || folder.front() != '/') continue;
    std::string path = std::string(folder) + "/ffmpeg";
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(path.c_str(), X_OK) == 0)
      return path;
  }
  return "";
}

}  // namespace verbatim
