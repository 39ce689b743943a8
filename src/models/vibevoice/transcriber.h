// From generated tokens to segments, a transcript and the warnings a reader needs.
#pragma once

#include <cstdint>
#include <vector>

#include "audio/vad.h"
#include "models/loop_detector.h"
#include "models/vibevoice/segment_parser.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"
#include "transcript/event.h"

namespace verbatim::vibevoice {

class Transcriber {
 public:
  explicit Transcriber(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  // The segments that this token completed, times as the model says them.
  std::vector<Segment> push(std::int32_t token);
  bool is_looping() const { return is_looping_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  // Everything, with times clamped to [0, duration_s] and the warnings about it; `more` are
  // warnings found elsewhere. Segments the end completed are in the transcript alone.
  Transcript finish(double duration_s, const std::vector<Interval>& speech,
                    std::vector<Warning> more, bool ended_by_itself);

 private:
  struct Piece {
    std::size_t begin = 0;  // of its text in the parser's
    std::size_t end = 0;
    std::int32_t token = 0;
  };
  Segment made(const ParsedSegment& parsed) const;

  const Tokenizer& tokenizer_;
  Utf8Stream utf8_;
  SegmentParser parser_;
  LoopDetector loop_;
  bool is_looping_ = false;
  std::vector<std::int32_t> tokens_;
  std::vector<Piece> pieces_;
  std::size_t open_ = 0;  // pieces from here on ended inside a character that is not yet whole
  std::vector<ParsedSegment> parsed_;
};

// Seconds of speech that no segment covers, and the longest such stretch.
struct Uncovered {
  double total_s = 0;
  double start_s = 0;
  double end_s = 0;
};
Uncovered uncovered_speech(const std::vector<Interval>& speech,
                           const std::vector<Segment>& segments);

}  // namespace verbatim::vibevoice
