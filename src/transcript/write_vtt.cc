// vtt: WebVTT; the speaker is the cue's voice, which players show in their own way, so it does not
// count towards a line's length.
#include "transcript/fields.h"
#include "transcript/subtitles.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out.push_back(c);
    }
  }
}

std::string write(const Transcript& transcript, const WriterOptions& options) {
  std::string out = "WEBVTT\n";
  for (const Cue& cue : make_cues(transcript, options, false)) {
    out += "\n" + cue_time(cue.start_ms, '.') + " --> " + cue_time(cue.end_ms, '.') + "\n";
    if (cue.speaker >= 0) out += "<v " + speaker_name(cue.speaker) + ">";
    for (const std::string& line : cue.lines) {
      append_escaped(out, line);
      out.push_back('\n');
    }
  }
  return out;
}

}  // namespace

extern const Writer kVttWriter{"vtt", "text/vtt; charset=utf-8", "vtt", write};

}  // namespace verbatim
