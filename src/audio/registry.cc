// The kinds of audio file, recognised by their content, in the order in which they are asked.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "audio/frames.h"
#include "base/error.h"
#include "base/interrupt.h"

namespace verbatim {
namespace {

struct SourceKind {
  bool (*is)(ByteInput& input);
  // Null: another kind must read this file after all.
  std::unique_ptr<FrameReader> (*open)(std::unique_ptr<ByteInput> input);
};

constexpr SourceKind kSourceKinds[] = {{is_wav, open_wav}, {is_flac, open_flac}};

std::unique_ptr<ByteInput> open_request(const AudioRequest& request) {
  if (request.what == "-")
    return open_input("stdin", std::max(request.file, STDIN_FILENO), request.live_end);
  return open_input(request.what, request.file, request.live_end);
}

}  // namespace

std::unique_ptr<FrameReader> open_frames(const AudioRequest& request) {
  std::unique_ptr<ByteInput> input = open_request(request);
  const std::string name = input->name();
  if (request.what == "-" && request.raw.sample_rate_hz != 0)
    return open_raw(std::move(input), request.raw);
  if (input->peek(1).empty()) {
    if (request.live_end != nullptr && is_interrupted())
      fail(Code::kCancelled, "%s: interrupted before its first sound", name.c_str());
    fail(Code::kCorrupt, "%s: holds no audio: it is empty", name.c_str());
  }
  const bool is_file = input->size().has_value();
  const char* found = "neither WAV, RF64, W64 nor FLAC";
  for (const SourceKind& kind : kSourceKinds) {
    if (!kind.is(*input)) continue;
    std::unique_ptr<FrameReader> reader = kind.open(std::move(input));
    if (reader) return reader;
    found = "a WAV file whose coding is not PCM";
    break;
  }
  if (!is_file)
    fail(Code::kUnsupported,
         "%s: %s, which is all that is read from a pipe; for raw PCM give its rate", name.c_str(),
         found);
  if (request.ffmpeg.empty())
    fail(Code::kUnsupported,
         "%s: %s; other formats are read through an ffmpeg program, and none was found",
         name.c_str(), found);
  return open_ffmpeg(request);
}

}  // namespace verbatim
