// verbose_json: OpenAI's body with every key its schema requires. Timings are left out, so that
// equal runs give equal bytes.
#include "base/utf8.h"
#include "transcript/deflate.h"
#include "transcript/fields.h"
#include "transcript/writer.h"

namespace verbatim {

namespace {

void append_segment(std::string& json, std::int64_t id, const Segment& segment, const Usage& usage,
                    double temperature) {
  const SegmentTimes times = segment_times(segment, usage);
  if (json.back() != '[') json.push_back(',');
  json.push_back('{');
  append_integer(json, "id", id);
  append_integer(json, "seek", times.start_cs);
  append_segment_times(json, times);
  append_text(json, "text", segment.text);
  append_key(json, "tokens");
  json.push_back('[');
  for (const std::int32_t token : segment.tokens) {
    if (json.back() != '[') json.push_back(',');
    json += std::to_string(token);
  }
  json.push_back(']');
  append_number(json, "temperature", temperature);
  append_number(json, "avg_logprob", 0);  // 0.0 is the contract's word for "not computed"
  append_number(json, "compression_ratio", compression_ratio(to_valid_utf8(segment.text)));
  append_number(json, "no_speech_prob", is_non_speech(segment.text) ? 1 : 0);
  append_speaker(json, segment.speaker);
  append_speaker_id(json, segment.speaker);
  json.push_back('}');
}

// OpenAI's place for words is beside the segments.
void append_all_words(std::string& json, const Transcript& transcript) {
  std::string words = "[";
  for (const Segment& segment : transcript.segments)
    append_words(words, segment.words, transcript.usage);
  if (words == "[") return;
  append_key(json, "words");
  json += words + "]";
}

std::string write(const Transcript& transcript, const WriterOptions& options) {
  std::string json = "{";
  append_text(json, "task", "transcribe");
  append_text(json, "language", transcript.language.empty() ? "unknown" : transcript.language);
  append_duration(json, transcript.usage);
  append_text(json, "text", transcript.text);
  append_key(json, "segments");
  json.push_back('[');
  std::int64_t id = 0;
  for (const Segment& segment : transcript.segments)
    append_segment(json, id++, segment, transcript.usage, options.temperature);
  json.push_back(']');
  if (options.words) append_all_words(json, transcript);
  append_usage(json, transcript.usage);
  append_warnings(json, transcript.warnings);
  append_key(json, "x_verbatim");
  json.push_back('{');
  append_text(json, "model", options.model);
  append_integer(json, "prompt_tokens", transcript.usage.prompt_tokens);
  append_integer(json, "generated_tokens", transcript.usage.output_tokens);
  json += "}}\n";
  return json;
}

}  // namespace

extern const Writer kVerboseJsonWriter{"verbose_json", "application/json", "verbose.json", write};

}  // namespace verbatim
