// The model's JSON array of segments, read tolerantly while it grows and without ever losing text.
// Required behaviour: section 7.3 of the VibeVoice-ASR specification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim::vibevoice {

// The times always hold something to show, 0 <= start_s <= end_s: where the model gave none, the
// neighbours' (a missing end is the next start), and 0 to the duration for text that is no JSON at
// all. has_start and has_end say that they are the model's own.
struct ParsedSegment {
  double start_s = 0;
  double end_s = 0;
  bool has_start = false;
  bool has_end = false;
  std::int32_t speaker = -1;  // -1: none, or a label that is no integer
  std::string speaker_label;  // what stood there when it was no integer ("N/A")
  std::string text;
  // Byte range of the raw Content value in the whole text fed so far (inside the quotes), so that
  // the tokens it came from can be found; both 0 for fallback segments.
  std::size_t text_begin = 0;
  std::size_t text_end = 0;
};

// Fed with decoded text (special tokens skipped) as it comes; gives out each segment once it is
// complete. One thread at a time.
class SegmentParser {
 public:
  // Returns the segments that this text completed.
  std::vector<ParsedSegment> feed(std::string_view text);
  // What is left at the end: malformed or unclosed objects with a Content, the plain-text fallback,
  // or one segment 0..duration_s with everything, when nothing was found.
  std::vector<ParsedSegment> finish(double duration_s);
  bool is_closed() const;  // the array's end was seen; valid after finish too
  const std::string& text() const { return text_; }

 private:
  enum class State : std::uint8_t { kPlain, kBracket, kArray, kObject, kString, kEscape };

  bool step(std::size_t position);
  bool step_outside(std::size_t position);
  void step_object(std::size_t position);
  void close_bracket(std::size_t position);
  std::size_t restart_point(std::size_t colon) const;
  bool is_wrapper(std::size_t inner) const;
  void restart_object(std::size_t position);
  void begin_object(std::size_t position, bool bare);
  void end_object(std::size_t end, bool is_whole);
  void open_array(std::size_t position);
  void take_plain(std::size_t begin, std::size_t end);
  void add(ParsedSegment segment);
  void release_pending(const ParsedSegment* next);

  std::string text_;
  std::size_t scanned_ = 0;
  State state_ = State::kPlain;
  std::size_t bracket_at_ = 0;  // of the '[' that may start the array
  std::size_t object_begin_ = 0;
  std::size_t plain_begin_ = 0;  // of the text that belongs to no object so far
  std::string stack_;            // brackets open inside the object, its own brace first
  bool bare_ = false;  // the object stands in no array: plain text, if it has no known key
  bool array_seen_ = false;
  bool closed_ = false;
  bool object_found_ = false;
  double last_end_s_ = 0;
  std::vector<ParsedSegment> pending_;  // wait for the next Start, which is their End
  std::vector<ParsedSegment> ready_;
};

}  // namespace verbatim::vibevoice
