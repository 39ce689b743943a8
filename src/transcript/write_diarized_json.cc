// diarized_json: OpenAI's body; speakers are letters in order of first appearance.
#include <map>

#include "transcript/characters.h"
#include "transcript/fields.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

std::vector<std::string> speaker_labels(const std::vector<Segment>& segments) {
  std::map<std::int32_t, std::string> letters;
  std::vector<std::string> labels;
  labels.reserve(segments.size());
  for (const Segment& segment : segments) {
    if (segment.speaker < 0) {
      labels.emplace_back("unknown");
      continue;
    }
    const auto next = static_cast<std::int64_t>(letters.size());
    labels.push_back(letters.try_emplace(segment.speaker, speaker_letters(next)).first->second);
  }
  return labels;
}

std::string write(const Transcript& transcript, const WriterOptions&) {
  const std::vector<std::string> labels = speaker_labels(transcript.segments);
  std::string text;
  std::string segments;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Segment& segment = transcript.segments[i];
    if (i > 0) text.push_back('\n');
    text += labels[i] + ": " + one_line(segment.text);
    segments += i > 0 ? ",{" : "{";
    append_text(segments, "type", "transcript.text.segment");
    append_text(segments, "id", formatted("seg_%03zu", i + 1));
    append_segment_times(segments, segment_times(segment, transcript.usage));
    append_text(segments, "text", segment.text);
    append_text(segments, "speaker", labels[i]);
    segments.push_back('}');
  }
  std::string json = "{";
  append_text(json, "task", "transcribe");
  append_duration(json, transcript.usage);
  append_text(json, "text", text);
  append_key(json, "segments");
  json += "[" + segments + "]";
  append_usage(json, transcript.usage);
  append_warnings(json, transcript.warnings);
  json += "}\n";
  return json;
}

}  // namespace

extern const Writer kDiarizedJsonWriter{"diarized_json", "application/json", "diarized.json",
                                        write};

}  // namespace verbatim
