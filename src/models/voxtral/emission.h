// From the ids that are decided, one per slot of 80 ms, to text, words with times, and segments.
// Sections 5.4, 6.3 and 10 of the specification; docs/models/voxtral.md has the formula and its
// measured error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8_stream.h"
#include "transcript/event.h"

namespace verbatim::voxtral {

struct EmissionIds {
  std::int32_t pad = 32;   // "[STREAMING_PAD]"
  std::int32_t word = 33;  // "[STREAMING_WORD]": opens a group of text
  std::int32_t first_text = 1000;
};

// A group is the text of consecutive slots behind one `word`; the slot of that id is the moment at
// which the words of the group were complete. Every other id that is no text counts as `pad`.
class Emission {
 public:
  // token_s: seconds of a slot. The tokenizer outlives this object.
  Emission(const Tokenizer& tokenizer, const EmissionIds& ids, double token_s);

  // The id decided in slot `slot`; 0 is the clip's first decision. Slots may jump back after a
  // restart of the context, never before the slot of the last text. Appends TextDelta, WordDone and
  // SegmentDone to `events`; the deltas joined are the transcript's text. Text that comes so late
  // that its word or segment was posted is posted as another one.
  void push(std::int32_t token, std::int64_t slot, std::vector<Event>& events);
  // No more ids: flushes characters, words and the segment. What it appends and returns has times
  // within [0, audio_s]. Every text id is in one segment of the transcript, if it has any.
  Transcript finish(double audio_s, std::vector<Event>& events);
  bool is_text(std::int32_t token) const { return token >= ids_.first_text; }

 private:
  struct OpenWord {
    std::size_t begin = 0;  // of its bytes in text_
    std::size_t end = 0;
    std::int64_t characters = 0;
    std::int64_t weight = 0;   // of what is spoken of it
    std::int64_t slot = 0;     // it was complete by the end of this one
    bool is_separate = false;  // a segment may begin with it
  };
  struct TextToken {
    std::int32_t id = 0;
    std::size_t begin = 0;  // of its text in text_
  };

  void push_text(std::int32_t token, std::int64_t slot, std::vector<Event>& events);
  void open_group(std::int64_t slot, bool is_marked);
  void take(std::string_view text, std::int64_t slot, std::vector<Event>& events);
  void add_character(char32_t code, std::string_view bytes, std::vector<Event>& events);
  bool is_word_cut_before(char32_t code) const;
  void settle(std::size_t count, std::vector<Event>& events);
  void add_to_segment(const OpenWord& open, Word word, std::vector<Event>& events);
  void close_segment(std::vector<Event>& events);
  double end_s(std::int64_t slot) const { return static_cast<double>(slot + 1) * token_s_; }

  const Tokenizer& tokenizer_;
  EmissionIds ids_;
  double token_s_;

  Utf8Stream utf8_;
  std::string text_;        // from its first character that is no white space on
  std::size_t solid_ = 0;   // bytes of it up to the last that is no white space
  std::size_t posted_ = 0;  // bytes of it that deltas have given out
  char32_t last_code_ = 0;  // its last character

  std::int64_t last_slot_ = -1;
  std::int64_t last_text_slot_ = -1;
  std::int64_t group_slot_ = -1;   // of the open group; -1: none
  bool is_group_marked_ = false;   // by a `word`; text without one opens a group as well
  bool is_group_empty_ = false;    // no word ends with the open group yet
  std::vector<OpenWord> pending_;  // not yet posted; all end in the same slot
  double last_end_s_ = 0;          // of the last posted word

  std::vector<TextToken> tokens_;  // not yet in a segment
  Segment segment_;                // open when it has words
  std::size_t segment_begin_ = 0;  // of its text in text_
  std::size_t segment_end_ = 0;
  std::int64_t segment_characters_ = 0;
  bool is_segment_separate_ = false;  // by its first word
  std::size_t closed_begin_ = 0;      // of the last closed segment's text in text_
  std::vector<Segment> segments_;
};

}  // namespace verbatim::voxtral
