// From the ids that are decided, one per slot of 80 ms, to text, words with times, and segments.
// Sections 5.4, 6.3 and 10 of the specification; docs/models/voxtral.md tells the formula.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8_stream.h"
#include "transcript/event.h"

namespace verbatim::voxtral {

struct EmissionIds {
  std::int32_t pad = 32;
  std::int32_t word = 33;
  std::int32_t first_text = 1000;
};

class Emission {
 public:
  // token_s: seconds of a slot.
  Emission(const Tokenizer& tokenizer, const EmissionIds& ids, double token_s);

  // The id decided in slot `slot`; 0 is the clip's first decision. Slots may jump back after a
  // restart of the context, never before the slot of the last text. Appends TextDelta, WordDone and
  // SegmentDone to `events`; the deltas joined are the transcript's text.
  void push(std::int32_t token, std::int64_t slot, std::vector<Event>& events);
  // No more ids: flushes characters, words and the segment. Times are clipped to the audio.
  Transcript finish(double audio_s, std::vector<Event>& events);
  bool is_text(std::int32_t token) const { return token >= ids_.first_text; }

 private:
  struct OpenWord {
    std::size_t begin = 0;  // of its bytes in text_
    std::size_t end = 0;
    std::int64_t characters = 0;
    bool is_closed = false;  // white space followed
  };
  struct TextToken {
    std::int32_t id = 0;
    std::size_t begin = 0;  // of its bytes in text_
  };

  void take(const std::string& text, std::int64_t slot, std::vector<Event>& events);
  void add_character(char32_t code, std::size_t begin, std::size_t length,
                     std::vector<Event>& events);
  void post_delta(std::int64_t slot, std::vector<Event>& events);
  void settle(std::vector<Event>& events);
  void add_to_segment(const Word& word, std::size_t begin, std::size_t end,
                      std::vector<Event>& events);
  void close_segment(std::vector<Event>& events);
  double end_s(std::int64_t slot) const { return static_cast<double>(slot + 1) * token_s_; }

  const Tokenizer& tokenizer_;
  EmissionIds ids_;
  double token_s_;

  Utf8Stream utf8_;
  std::string text_;        // from its first character that is no white space on
  std::size_t posted_ = 0;  // bytes of it that deltas have given out
  std::size_t solid_ = 0;   // bytes of it up to the last that is no white space
  char32_t last_code_ = 0;  // the last character of text_

  std::int64_t group_slot_ = -1;  // of the group that text belongs to now; -1: none is open
  bool is_new_group_ = false;     // text of it has not come yet
  std::int64_t idle_ = 0;         // slots since the last text
  std::vector<OpenWord> words_;   // that end with the group, not yet settled
  std::int64_t words_slot_ = -1;  // of that group
  double last_end_s_ = 0;         // of the last settled word

  std::vector<TextToken> tokens_;  // not yet in a segment
  Segment segment_;
  std::size_t segment_begin_ = 0;
  std::size_t segment_end_ = 0;
  std::vector<Segment> segments_;
};

}  // namespace verbatim::voxtral
