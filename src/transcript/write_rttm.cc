// rttm: NIST speaker turns, one line for each segment that has a speaker.
#include "transcript/fields.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

std::string write(const Transcript& transcript, const WriterOptions&) {
  const std::string recording = recording_name(transcript.source);
  std::string out;
  for (const Segment& segment : transcript.segments) {
    if (segment.speaker < 0) continue;
    const SegmentTimes times = segment_times(segment, transcript.usage);
    out += "SPEAKER " + recording + " 1 " + nist_time(times.start_cs) + " " +
           nist_time(times.end_cs - times.start_cs) + " <NA> <NA> Speaker_" +
           std::to_string(segment.speaker) + " <NA> <NA>\n";
  }
  return out;
}

}  // namespace

extern const Writer kRttmWriter{"rttm", "text/plain; charset=utf-8", "rttm", write};

}  // namespace verbatim
