// A group is what is said in consecutive slots after a "[STREAMING_WORD]"; its slot is the moment
// at which its last word was complete.
#include "models/voxtral/emission.h"

#include <algorithm>

#include "base/utf8.h"
#include "transcript/characters.h"

namespace verbatim::voxtral {
namespace {

// A word lasts about so long, and no longer than the most; the end of the one before it bounds it
// anyway.
constexpr double kWordBaseS = 0.2;
constexpr double kPerCharacterS = 0.08;
constexpr double kWordMostS = 1.5;

// After so many slots without text a word will grow no more.
constexpr std::int64_t kSettleSlots = 3;

// A segment ends after punctuation that ends a sentence, before a pause, and where it gets too long
// for two lines of a subtitle.
constexpr double kPauseS = 1.0;
constexpr double kSegmentMostS = 10;
constexpr std::size_t kSegmentMostBytes = 84;

// What separates words and is stripped at both ends: Unicode's White_Space. Other control
// characters are text.
bool is_white(char32_t code) {
  if (code < 0x20) return code >= 0x09 && code <= 0x0D;
  if (code >= 0x7F && code < 0xA0) return code == 0x85;
  return is_blank(code);
}

bool ends_sentence(std::string_view text) {
  for (const std::string_view end : {".", "!", "?", "\xE2\x80\xA6", "\xE3\x80\x82", "\xEF\xBC\x81",
                                     "\xEF\xBC\x9F", "\xE0\xA5\xA4", "\xD8\x9F"}) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

double guessed_s(std::int64_t characters) {
  return std::min(kWordMostS, kWordBaseS + kPerCharacterS * static_cast<double>(characters));
}

}  // namespace

Emission::Emission(const Tokenizer& tokenizer, const EmissionIds& ids, double token_s)
    : tokenizer_(tokenizer), ids_(ids), token_s_(token_s) {}

void Emission::push(std::int32_t token, std::int64_t slot, std::vector<Event>& events) {
  if (is_text(token)) {
    if (group_slot_ < 0) {
      group_slot_ = slot;
      is_new_group_ = true;
    }
    idle_ = 0;
    const std::string text = utf8_.feed(tokenizer_.bytes(token));
    tokens_.push_back({token, text_.size()});
    take(text, slot, events);
    return;
  }
  group_slot_ = -1;
  if (token == ids_.word) {
    group_slot_ = slot;
    is_new_group_ = true;
  }
  ++idle_;
  if (idle_ == kSettleSlots) settle(events);
  if (static_cast<double>(idle_) * token_s_ >= kPauseS) close_segment(events);
}

void Emission::take(const std::string& text, std::int64_t slot, std::vector<Event>& events) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = next_character(std::string_view(text).substr(at));
    const std::string_view bytes = std::string_view(text).substr(at, character.length);
    at += character.length;
    const bool white = is_white(character.code);
    if (white && text_.empty()) continue;
    const std::size_t begin = text_.size();
    text_ += bytes;
    if (white) {
      if (!words_.empty()) words_.back().is_closed = true;
    } else {
      add_character(character.code, begin, bytes.size(), events);
      solid_ = text_.size();
    }
    last_code_ = character.code;
  }
  post_delta(slot, events);
}

void Emission::add_character(char32_t code, std::size_t begin, std::size_t length,
                             std::vector<Event>& events) {
  const bool grows = !words_.empty() && !words_.back().is_closed;
  // Scripts without spaces: every group is a word of its own.
  const bool is_cut = is_new_group_ && is_cjk(code) && is_cjk(last_code_);
  if (!grows || is_cut) {
    if (is_new_group_) settle(events);
    words_.push_back({begin, begin, 0, false});
  }
  is_new_group_ = false;
  words_slot_ = group_slot_;
  OpenWord& word = words_.back();
  word.end = begin + length;
  ++word.characters;
}

void Emission::post_delta(std::int64_t slot, std::vector<Event>& events) {
  // White space at the end may turn out to be the end.
  if (solid_ <= posted_) return;
  events.push_back(
      TextDelta{text_.substr(posted_, solid_ - posted_), end_s(slot) - token_s_, end_s(slot)});
  posted_ = solid_;
}

void Emission::settle(std::vector<Event>& events) {
  if (words_.empty()) return;
  const double end = std::max(end_s(words_slot_), last_end_s_);
  double wanted = 0;
  std::int64_t characters = 0;
  for (const OpenWord& word : words_) {
    wanted += guessed_s(word.characters);
    characters += word.characters;
  }
  const double start = std::max(last_end_s_, end - wanted);
  std::int64_t passed = 0;
  std::vector<OpenWord> words;
  words.swap(words_);
  for (const OpenWord& open : words) {
    Word word;
    word.start_s =
        start + (end - start) * static_cast<double>(passed) / static_cast<double>(characters);
    passed += open.characters;
    word.end_s =
        start + (end - start) * static_cast<double>(passed) / static_cast<double>(characters);
    word.text = text_.substr(open.begin, open.end - open.begin);
    add_to_segment(word, open.begin, open.end, events);
  }
  last_end_s_ = end;
}

void Emission::add_to_segment(const Word& word, std::size_t begin, std::size_t end,
                              std::vector<Event>& events) {
  if (!segment_.words.empty()) {
    const bool is_pause = word.start_s - segment_.end_s >= kPauseS;
    const bool is_long =
        word.end_s - segment_.start_s > kSegmentMostS || end - segment_begin_ > kSegmentMostBytes;
    if (is_pause || is_long) close_segment(events);
  }
  if (segment_.words.empty()) {
    segment_begin_ = begin;
    segment_.start_s = word.start_s;
  }
  segment_end_ = end;
  segment_.end_s = word.end_s;
  segment_.words.push_back(word);
  events.push_back(WordDone{word});
  if (ends_sentence(word.text)) close_segment(events);
}

void Emission::close_segment(std::vector<Event>& events) {
  if (segment_.words.empty()) return;
  segment_.text = text_.substr(segment_begin_, segment_end_ - segment_begin_);
  const auto next = std::find_if(tokens_.begin(), tokens_.end(), [&](const TextToken& token) {
    return token.begin >= segment_end_;
  });
  for (auto token = tokens_.begin(); token != next; ++token) segment_.tokens.push_back(token->id);
  tokens_.erase(tokens_.begin(), next);
  segments_.push_back(segment_);
  events.push_back(SegmentDone{std::move(segment_)});
  segment_ = {};
}

Transcript Emission::finish(double audio_s, std::vector<Event>& events) {
  const std::int64_t slot = std::max<std::int64_t>(0, words_slot_);
  if (group_slot_ < 0) group_slot_ = slot;
  take(utf8_.finish(), slot, events);
  const std::size_t first = events.size();
  settle(events);
  close_segment(events);
  const auto clip = [&](auto& span) {
    span.start_s = std::min(span.start_s, audio_s);
    span.end_s = std::min(span.end_s, audio_s);
  };
  for (std::size_t i = first; i < events.size(); ++i) {
    if (WordDone* done = std::get_if<WordDone>(&events[i])) clip(done->word);
    if (SegmentDone* done = std::get_if<SegmentDone>(&events[i])) {
      clip(done->segment);
      for (Word& word : done->segment.words) clip(word);
    }
  }
  Transcript transcript;
  transcript.text = text_.substr(0, solid_);
  transcript.segments = std::move(segments_);
  for (Segment& segment : transcript.segments) {
    clip(segment);
    for (Word& word : segment.words) clip(word);
  }
  return transcript;
}

}  // namespace verbatim::voxtral
