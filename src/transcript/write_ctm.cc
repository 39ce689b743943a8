// ctm: NIST words, `recording channel start duration word`, in order of time. A word's time is
// never made up: a segment without word times is one line, its blanks written as '_', and when no
// segment has them the file says so in its first line, a comment.
#include <algorithm>

#include "transcript/characters.h"
#include "transcript/fields.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

struct Entry {
  std::int64_t start_cs = 0;
  std::int64_t end_cs = 0;
  std::string text;
};

void add_entry(std::vector<Entry>& entries, const SegmentTimes& times, std::string_view text) {
  std::string word = one_line(text, '_');
  if (!word.empty()) entries.push_back({times.start_cs, times.end_cs, std::move(word)});
}

std::string write(const Transcript& transcript, const WriterOptions&) {
  std::vector<Entry> entries;
  bool has_words = false;
  for (const Segment& segment : transcript.segments) {
    for (const Word& word : segment.words)
      add_entry(entries, segment_times(word.start_s, word.end_s, transcript.usage), word.text);
    if (segment.words.empty())
      add_entry(entries, segment_times(segment, transcript.usage), segment.text);
    has_words = has_words || !segment.words.empty();
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.start_cs < b.start_cs; });
  const std::string recording = recording_name(transcript.source);
  std::string out = has_words ? "" : ";; no word times: one line per segment\n";
  for (const Entry& entry : entries)
    out += recording + " 1 " + nist_time(entry.start_cs) + " " +
           nist_time(entry.end_cs - entry.start_cs) + " " + entry.text + "\n";
  return out;
}

}  // namespace

extern const Writer kCtmWriter{"ctm", "text/plain; charset=utf-8", "ctm", write};

}  // namespace verbatim
