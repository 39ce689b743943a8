// srt: numbered blocks; the speaker stands in brackets before the text.
#include "transcript/subtitles.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

std::string write(const Transcript& transcript, const WriterOptions& options) {
  std::string out;
  std::int64_t number = 0;
  for (const Cue& cue : make_cues(transcript, options, true)) {
    out += std::to_string(++number) + "\n";
    out += cue_time(cue.start_ms, ',') + " --> " + cue_time(cue.end_ms, ',') + "\n";
    for (const std::string& line : cue.lines) out += line + "\n";
    out += "\n";
  }
  return out;
}

}  // namespace

extern const Writer kSrtWriter{"srt", "application/x-subrip; charset=utf-8", "srt", write};

}  // namespace verbatim
