// tsv: one line a segment: start and end in milliseconds, speaker (empty: none), text.
#include "transcript/characters.h"
#include "transcript/fields.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

std::string write(const Transcript& transcript, const WriterOptions&) {
  std::string out = "start_ms\tend_ms\tspeaker\ttext\n";
  for (const Segment& segment : transcript.segments) {
    const SegmentTimes times = segment_times(segment, transcript.usage);
    out += std::to_string(times.start_cs * 10) + "\t" + std::to_string(times.end_cs * 10) + "\t" +
           speaker_name(segment.speaker) + "\t" + one_line(segment.text) + "\n";
  }
  return out;
}

}  // namespace

extern const Writer kTsvWriter{"tsv", "text/tab-separated-values; charset=utf-8", "tsv", write};

}  // namespace verbatim
