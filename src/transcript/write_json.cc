// json: the HTTP API's body, and what a script that reads files wants besides: the segments and the
// version of this layout.
#include "transcript/fields.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

constexpr std::int64_t kSchema = 1;  // changes when a key changes its meaning or goes

void append_segment(std::string& json, std::int64_t id, const Segment& segment, const Usage& usage,
                    bool has_words) {
  if (json.back() != '[') json.push_back(',');
  json.push_back('{');
  append_integer(json, "id", id);
  append_segment_times(json, segment_times(segment, usage));
  append_speaker_id(json, segment.speaker);
  append_speaker(json, segment.speaker);
  append_text(json, "text", segment.text);
  if (has_words && !segment.words.empty()) {
    append_key(json, "words");
    json.push_back('[');
    append_words(json, segment.words, usage);
    json.push_back(']');
  }
  json.push_back('}');
}

std::string write(const Transcript& transcript, const WriterOptions& options) {
  std::string json = "{";
  append_text(json, "text", transcript.text);
  append_usage(json, transcript.usage);
  append_warnings(json, transcript.warnings);
  append_integer(json, "schema", kSchema);
  append_key(json, "segments");
  json.push_back('[');
  std::int64_t id = 0;
  for (const Segment& segment : transcript.segments)
    append_segment(json, id++, segment, transcript.usage, options.words);
  json += "]}\n";
  return json;
}

}  // namespace

extern const Writer kJsonWriter{"json", "application/json", "json", write};

}  // namespace verbatim
