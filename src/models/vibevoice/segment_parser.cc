// A scanner that looks at each byte once, in the order of the text, so that how the text was cut on
// its way here cannot matter; and what becomes of text that is no JSON.
//
// Everything outside the objects is plain text. Plain text with a letter or digit in it becomes a
// segment of its own when objects were found elsewhere; its time is where it stands among them.
// Reference: microsoft/VibeVoice, vibevoice/processor/vibevoice_asr_processor.py,
// post_process_transcription, which this is more tolerant than.
#include "models/vibevoice/segment_parser.h"

#include <algorithm>
#include <utility>

#include "models/vibevoice/json_text.h"
#include "models/vibevoice/segment_object.h"

namespace verbatim::vibevoice {

namespace {

constexpr std::string_view kFence = "```";

std::string without_fences(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t fence = text.find(kFence);
    out += text.substr(0, fence);
    if (fence == std::string_view::npos) return out;
    text.remove_prefix(fence + kFence.size());
    for (const std::string_view info : {"json", "JSON"})
      if (text.starts_with(info)) text.remove_prefix(info.size());
  }
}

// The header of the model's turn is ordinary text to the tokenizer.
std::string_view without_header(std::string_view text) {
  constexpr std::string_view kHeader = "assistant";
  text = trimmed_ascii(text);
  if (!text.starts_with(kHeader)) return text;
  std::string_view rest = text.substr(kHeader.size());
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r'))
    rest.remove_prefix(1);
  const bool is_header = rest.empty() || rest[0] == '\n' || rest[0] == '[' || rest[0] == '{' ||
                         rest.starts_with(kFence);
  return is_header ? trimmed_ascii(rest) : text;  // else a sentence that begins with this word
}

// Plain text without the header, code fences and the brackets of whatever stood around it.
std::string cleaned(std::string_view text, bool is_first) {
  const std::string bare = without_fences(is_first ? without_header(text) : text);
  const std::size_t first = bare.find_first_not_of("}], \t\r\n");
  if (first == std::string::npos) return {};
  const std::size_t last = bare.find_last_not_of("{[, \t\r\n");
  return last == std::string::npos || last < first ? std::string()
                                                   : bare.substr(first, last - first + 1);
}

// "0: text" or "Speaker 2: text". False for a line without such a label, a time of day included.
bool read_label(std::string_view line, ParsedSegment& segment) {
  constexpr std::string_view kPrefix = "peaker ";
  constexpr std::size_t kMostDigits = 4;
  line = trimmed_ascii(line);
  const bool is_named = !line.empty() && (line[0] == 'S' || line[0] == 's') &&
                        line.substr(1, kPrefix.size()) == kPrefix;
  if (is_named) line.remove_prefix(1 + kPrefix.size());
  std::int32_t speaker = 0;
  std::size_t digits = 0;
  while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9' && digits < kMostDigits)
    speaker = speaker * 10 + (line[digits++] - '0');
  if (digits == 0) return false;
  const std::string_view rest = trimmed_ascii(line.substr(digits));
  if (rest.empty() || rest[0] != ':') return false;
  if (rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9') return false;
  segment.speaker = speaker;
  segment.text = std::string(trimmed_ascii(rest.substr(1)));
  return true;
}

std::vector<ParsedSegment> segments_of_lines(std::string_view text, double duration_s) {
  std::vector<ParsedSegment> segments;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    ParsedSegment segment;
    segment.end_s = duration_s;
    if (read_label(line, segment) || segments.empty()) {
      if (segment.speaker < 0) segment.text = std::string(line);
      segments.push_back(std::move(segment));
    } else {
      segments.back().text.append("\n").append(line);
    }
  }
  return segments;
}

}  // namespace

std::vector<ParsedSegment> SegmentParser::feed(std::string_view text) {
  text_.append(text);
  // step() may set scanned_ back to where an object begins anew.
  while (scanned_ < text_.size()) {
    if (step(scanned_)) ++scanned_;
  }
  return std::exchange(ready_, {});
}

bool SegmentParser::is_closed() const {
  return closed_;
}

// False: the same byte again, in the new state.
bool SegmentParser::step(std::size_t position) {
  const char c = text_[position];
  if (state_ == State::kEscape) {
    state_ = State::kString;
    return true;
  }
  if (state_ != State::kString && state_ != State::kObject) return step_outside(position);
  if (c == ':') {
    const std::size_t restart = restart_point(position);
    if (restart != std::string::npos) {
      restart_object(restart);
      scanned_ = restart;
      return true;
    }
  }
  if (state_ == State::kString) {
    if (c == '\\') state_ = State::kEscape;
    if (c == '"') state_ = State::kObject;
    return true;
  }
  step_object(position);
  return state_ != State::kArray || c != ']';
}

bool SegmentParser::step_outside(std::size_t position) {
  const char c = text_[position];
  if (state_ == State::kBracket) {
    if (is_space(c)) return true;
    state_ = State::kPlain;
    if (c != '{' && c != ']') return false;
    open_array(bracket_at_);
    plain_begin_ = position;
    state_ = State::kArray;
    return false;
  }
  if (state_ == State::kArray) {
    if (c != '{' && c != ']') return true;
    take_plain(plain_begin_, position);
    plain_begin_ = position + 1;
    if (c == '{') {
      begin_object(position, false);
    } else {
      closed_ = true;
      state_ = State::kPlain;
    }
    return true;
  }
  if (c == '[') {
    bracket_at_ = position;
    state_ = State::kBracket;
  } else if (c == '{') {
    begin_object(position, true);
  }
  return true;
}

void SegmentParser::step_object(std::size_t position) {
  switch (text_[position]) {
    case '"':
      state_ = State::kString;
      return;
    case '{':
    case '[':
      stack_.push_back(text_[position]);
      return;
    case '}':
      stack_.resize(stack_.find_last_of('{'));  // the object's own brace is always there
      if (stack_.empty()) end_object(position + 1, true);
      return;
    case ']':
      close_bracket(position);
      return;
    default:
      return;
  }
}

void SegmentParser::close_bracket(std::size_t position) {
  const std::size_t opened = stack_.find_last_of('[');
  if (opened != std::string::npos) {
    stack_.resize(opened);
    return;
  }
  if (bare_) return;
  // The array ends although the object did not, if this stands behind a value; behind a word it is
  // text whose quotes lack their backslash.
  std::size_t before = position;
  while (is_space(text_[before - 1])) --before;
  const char last = text_[before - 1];
  if (last == '"' || last == '}' || (last >= '0' && last <= '9')) end_object(position, false);
}

// Where `{"Start":` begins, seen from its colon, when it cannot be part of the object that is open:
// inside a string its quotes would have backslashes, so the string's end was missed.
std::size_t SegmentParser::restart_point(std::size_t colon) const {
  constexpr std::size_t kLongestKey = 10;
  const auto skip_back = [&](std::size_t at) {
    while (at > object_begin_ && is_space(text_[at - 1])) --at;
    return at;
  };
  std::size_t at = skip_back(colon);
  if (at <= object_begin_ + 1 || text_[at - 1] != '"') return std::string::npos;
  const std::size_t closing = at - 1;
  at = closing;
  while (at > object_begin_ && text_[at - 1] != '"' && closing - at <= kLongestKey) --at;
  if (at <= object_begin_ + 1 || text_[at - 1] != '"') return std::string::npos;
  const std::size_t key = at - 1;
  at = skip_back(key);
  if (at <= object_begin_ + 1 || text_[at - 1] != '{') return std::string::npos;
  const std::size_t brace = at - 1;
  const std::string_view text(text_);
  if (!starts_with_known_key(text.substr(key, colon + 1 - key))) return std::string::npos;
  if (state_ == State::kString || is_wrapper(brace)) return brace;
  const char before = text_[skip_back(brace) - 1];
  return stack_.size() == 2 && before != ':' ? brace : std::string::npos;
}

// {"segments":[{"Start": ...: the array of interest lies inside an object.
bool SegmentParser::is_wrapper(std::size_t inner) const {
  const std::string_view outer =
      std::string_view(text_).substr(object_begin_, inner - object_begin_);
  return state_ == State::kObject && stack_ == "{[{" && trimmed_ascii(outer).back() == '[' &&
         !has_content_key(outer);
}

void SegmentParser::restart_object(std::size_t position) {
  if (!is_wrapper(position)) {
    const bool bare = bare_;
    // Inside a string whose end was missed the object's own brace looks like text.
    const std::string_view between = state_ == State::kString ? "}, \t\r\n" : ", \t\r\n";
    std::size_t end = position;
    while (end > object_begin_ + 1 && between.find(text_[end - 1]) != std::string_view::npos) --end;
    end_object(end, false);
    begin_object(position, bare);
    return;
  }
  const std::string_view outer =
      std::string_view(text_).substr(object_begin_, position - object_begin_);
  SegmentObject object = read_segment_object(outer);
  take_plain(plain_begin_, object.is_well_formed ? object_begin_ : position);
  if (object.is_well_formed && has_word(object.segment.text)) {
    object.segment.text_begin = object.segment.text_end = 0;
    add(std::move(object.segment));
  }
  array_seen_ = true;
  closed_ = false;
  begin_object(position, false);
}

void SegmentParser::begin_object(std::size_t position, bool bare) {
  object_begin_ = position;
  bare_ = bare;
  stack_ = "{";
  state_ = State::kObject;
}

void SegmentParser::end_object(std::size_t end, bool is_whole) {
  state_ = bare_ ? State::kPlain : State::kArray;
  SegmentObject object =
      read_segment_object(std::string_view(text_).substr(object_begin_, end - object_begin_));
  if (bare_ && !object.has_known_key) return;  // a brace in plain text
  if (bare_) take_plain(plain_begin_, object_begin_);
  plain_begin_ = end;
  if (bare_) closed_ = is_whole;
  ParsedSegment& segment = object.segment;
  if (trimmed_ascii(segment.text).empty() && !(is_whole && object.has_known_key)) return;
  if (segment.text_end > 0) {
    segment.text_begin += object_begin_;
    segment.text_end += object_begin_;
  }
  add(std::move(segment));
}

void SegmentParser::open_array(std::size_t position) {
  take_plain(plain_begin_, position);
  array_seen_ = true;
  closed_ = false;
}

void SegmentParser::take_plain(std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  ParsedSegment segment;
  segment.text = cleaned(std::string_view(text_).substr(begin, end - begin), begin == 0);
  if (!has_word(segment.text)) return;
  segment.start_s = pending_.empty() ? last_end_s_ : pending_.back().start_s;
  pending_.push_back(std::move(segment));
}

void SegmentParser::add(ParsedSegment segment) {
  object_found_ = true;
  release_pending(&segment);
  if (!segment.has_start) segment.start_s = last_end_s_;
  last_end_s_ = segment.start_s;
  if (!segment.has_end) {
    pending_.push_back(std::move(segment));
    return;
  }
  last_end_s_ = segment.end_s = std::max(segment.start_s, segment.end_s);
  ready_.push_back(std::move(segment));
}

// A missing End is the next Start; where that is unknown or earlier, the own Start.
void SegmentParser::release_pending(const ParsedSegment* next) {
  for (ParsedSegment& segment : pending_) {
    segment.end_s = segment.start_s;
    if (next != nullptr && next->has_start)
      segment.end_s = std::max(next->start_s, segment.start_s);
    last_end_s_ = segment.end_s;
    ready_.push_back(std::move(segment));
  }
  pending_.clear();
}

std::vector<ParsedSegment> SegmentParser::finish(double duration_s) {
  const bool in_object =
      state_ == State::kObject || state_ == State::kString || state_ == State::kEscape;
  if (in_object) end_object(text_.size(), false);
  take_plain(plain_begin_, text_.size());
  plain_begin_ = text_.size();
  if (!object_found_) {
    const bool is_empty_array = array_seen_ && pending_.empty();
    pending_.clear();
    return is_empty_array ? std::vector<ParsedSegment>()
                          : segments_of_lines(cleaned(text_, true), duration_s);
  }
  release_pending(nullptr);
  return std::exchange(ready_, {});
}

}  // namespace verbatim::vibevoice
