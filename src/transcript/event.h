// What a session answers: events while it works, a transcript at the end.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace verbatim {

struct Word {
  double start_s = 0;
  double end_s = 0;
  std::string text;
};

struct Segment {
  double start_s = 0;
  double end_s = 0;
  std::int32_t speaker = -1;  // as the model numbers it; -1: it names none
  std::string text;
  std::vector<std::int32_t> tokens;  // of the text alone, without JSON punctuation
  std::vector<Word> words;           // empty where the model gives none
};

// What a reader must know before trusting a result: a code of a closed list ("truncated",
// "unclosed_json", "times_beyond_audio", "uncovered", "loop", "interrupted", "audio_truncated",
// "audio_not_finite", "audio_gap", "audio_not_saved", "blank_rut", "eos"), a sentence, and where in
// the audio.
struct Warning {
  const char* code = "";
  std::string message;
  double start_s = 0;
  double end_s = 0;
};

struct Usage {
  double audio_s = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
};

struct Transcript {
  std::string source;    // file name or stream id, for formats that name their recording
  std::string language;  // English name in lower case; empty: unknown
  // Segment texts trimmed and joined by join_texts(), or, of a model that writes running text, all
  // of it, stripped.
  std::string text;
  std::vector<Segment> segments;
  std::vector<Warning> warnings;
  Usage usage;
};

// Whole UTF-8 characters only.
struct TextDelta {
  std::string text;
  double start_s = 0;
  double end_s = 0;
};
// A word that will grow no more; posted by models that give word times.
struct WordDone {
  Word word;
};
struct SegmentDone {
  Segment segment;
};
struct Progress {
  const char* stage = "";   // queued, read, encode, prefill, decode
  double done_s = 0;        // audio seconds
  double total_s = 0;       // 0: unknown
  std::int64_t tokens = 0;  // generated so far
};
struct Done {
  Transcript transcript;
};
struct Failed {
  Code code = Code::kInternal;
  std::string message;
};

// Closed on purpose: whoever consumes events handles all of them.
using Event = std::variant<Progress, TextDelta, WordDone, SegmentDone, Warning, Done, Failed>;

// Joins the trimmed texts by one space, by nothing between two CJK neighbours.
std::string join_texts(const std::vector<Segment>& segments);

}  // namespace verbatim
