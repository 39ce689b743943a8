// Text is given out at once; a word when it will grow no more; a segment at a sentence's end, a
// pause, or when it is long. Times follow from the slot of the id that opened the word's group.
#include "models/voxtral/emission.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "text/unicode.h"
#include "transcript/characters.h"

namespace verbatim::voxtral {
namespace {

// How long a word lasts, guessed from its letters: conversational speech has 12 to 15 of them a
// second. The end of the word before it bounds the guess.
constexpr double kWordBaseS = 0.1;
constexpr double kLetterS = 0.07;
constexpr double kWordMostS = 2;
// In letters: what is read as a word or a syllable of its own.
constexpr std::int64_t kSyllableWeight = 3;

// After so many slots without text a word is posted; it is hardly ever continued after one.
constexpr std::int64_t kSettleSlots = 3;
// Text that goes on for longer in every slot did not end in one: a new group begins by itself.
constexpr std::int64_t kGroupMostSlots = 12;

// A segment ends after a sentence, before a pause, and where two lines of a subtitle are full.
constexpr double kPauseS = 1;
constexpr double kSegmentMostS = 10;
constexpr std::int64_t kSegmentMostCharacters = 84;

// White_Space and the information separators, which the reference strips as well.
bool is_white(char32_t code) {
  if (code >= 0x1C && code <= 0x1F) return true;
  const CharacterClass found = character_class(code);
  return found == CharacterClass::kSpace || found == CharacterClass::kNewline;
}

bool is_hangul_syllable(char32_t code) {
  return code >= 0xAC00 && code <= 0xD7A3;
}

// How much there is to say for a character, in letters. Punctuation and symbols: nothing.
std::int64_t weight_of(char32_t code) {
  if (character_class(code) == CharacterClass::kNumber) return kSyllableWeight;
  if (letter_kind(code) == LetterKind::kNone) return 0;
  return is_cjk(code) || is_hangul_syllable(code) ? kSyllableWeight : 1;
}

double guessed_s(std::int64_t weight) {
  return std::min(kWordMostS, kWordBaseS + kLetterS * static_cast<double>(weight));
}

// Ends a word in scripts that have no spaces: ideographic and full-width comma and stops.
bool is_wide_stop(char32_t code) {
  static constexpr std::u32string_view kStops = U"\u3001\u3002\uFF0C\uFF01\uFF1F\uFF1A\uFF1B";
  return kStops.find(code) != std::u32string_view::npos;
}

std::size_t last_begin(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
  return begin;
}

char32_t last_character(std::string_view text) {
  return next_character(text.substr(last_begin(text))).code;
}

// "J.", "e.g.": one letter before the full stop. `word` ends with it.
bool is_abbreviation(std::string_view word) {
  word = word.substr(0, last_begin(word));
  if (word.empty() || letter_kind(last_character(word)) == LetterKind::kNone) return false;
  word = word.substr(0, last_begin(word));
  return word.empty() || word.ends_with('.');
}

// `word` is valid UTF-8; closing quotes and brackets may follow the end of the sentence.
bool ends_sentence(std::string_view word) {
  static constexpr std::u32string_view kClosing = U"\"')]\u00BB\u2019\u201D\u300D\u300F\uFF09";
  static constexpr std::u32string_view kEnds =
      U".!?\u2026\u0964\u0965\u061F\u06D4\u3002\uFF01\uFF0E\uFF1F\uFF61";
  while (!word.empty() && kClosing.find(last_character(word)) != std::u32string_view::npos)
    word = word.substr(0, last_begin(word));
  if (word.empty() || kEnds.find(last_character(word)) == std::u32string_view::npos) return false;
  return !word.ends_with('.') || !is_abbreviation(word);
}

void clip(double audio_s, double& start_s, double& end_s) {
  end_s = std::min(end_s, audio_s);
  start_s = std::min(start_s, end_s);
}

void clip(double audio_s, Segment& segment) {
  clip(audio_s, segment.start_s, segment.end_s);
  for (Word& word : segment.words) clip(audio_s, word.start_s, word.end_s);
}

void clip(double audio_s, Event& event) {
  if (auto* delta = std::get_if<TextDelta>(&event)) clip(audio_s, delta->start_s, delta->end_s);
  if (auto* done = std::get_if<WordDone>(&event))
    clip(audio_s, done->word.start_s, done->word.end_s);
  if (auto* done = std::get_if<SegmentDone>(&event)) clip(audio_s, done->segment);
}

}  // namespace

Emission::Emission(const Tokenizer& tokenizer, const EmissionIds& ids, double token_s)
    : tokenizer_(tokenizer), ids_(ids), token_s_(token_s) {}

void Emission::push(std::int32_t token, std::int64_t slot, std::vector<Event>& events) {
  if (slot <= last_slot_) group_slot_ = -1;  // a new context does not go on with the old one's
  last_slot_ = slot;
  if (is_text(token)) return push_text(token, slot, events);
  group_slot_ = -1;
  if (token == ids_.word) open_group(slot, true);
  const std::int64_t idle = slot - last_text_slot_;
  if (idle >= kSettleSlots) settle(pending_.size(), events);
  if (static_cast<double>(idle) * token_s_ >= kPauseS) close_segment(events);
}

void Emission::push_text(std::int32_t token, std::int64_t slot, std::vector<Event>& events) {
  if (group_slot_ < 0 || slot - group_slot_ > kGroupMostSlots) open_group(slot, false);
  last_text_slot_ = slot;
  tokens_.push_back({token, text_.size()});
  take(utf8_.feed(tokenizer_.bytes(token)), slot, events);
}

void Emission::open_group(std::int64_t slot, bool is_marked) {
  group_slot_ = slot;
  is_group_marked_ = is_marked;
  is_group_empty_ = true;
}

void Emission::take(std::string_view text, std::int64_t slot, std::vector<Event>& events) {
  while (!text.empty()) {
    const Utf8Character character = next_character(text);
    const std::string_view bytes = text.substr(0, character.length);
    text.remove_prefix(character.length);
    if (!is_white(character.code)) {
      add_character(character.code, bytes, events);
    } else if (!text_.empty()) {
      text_ += bytes;
    }
    last_code_ = character.code;
  }
  // White space at the end waits: it may turn out to be the text's.
  if (solid_ == posted_) return;
  const double end = end_s(slot);
  events.push_back(TextDelta{text_.substr(posted_, solid_ - posted_), end - token_s_, end});
  posted_ = solid_;
}

bool Emission::is_word_cut_before(char32_t code) const {
  if (joins_previous(code)) return false;
  const bool is_wide = is_cjk(code) || is_cjk(last_code_);
  if (is_group_empty_ && is_wide && (is_cjk(code) || weight_of(code) > 0)) return true;
  return is_wide_stop(last_code_);
}

void Emission::add_character(char32_t code, std::string_view bytes, std::vector<Event>& events) {
  const std::int64_t weight = weight_of(code);
  const bool is_after_white = solid_ < text_.size();
  if (pending_.empty() || is_after_white || is_word_cut_before(code)) {
    if (is_group_empty_) settle(pending_.size(), events);
    OpenWord word;
    word.begin = text_.size();
    word.is_separate = is_after_white || text_.empty() || (is_cjk(code) && is_cjk(last_code_));
    word.slot = group_slot_;
    is_group_empty_ = false;
    pending_.push_back(word);
  } else if (is_group_empty_ && is_group_marked_ && weight > 0) {
    // What was said of the word is complete only now; those before it were complete before. Pieces
    // without a mark of their own, and punctuation, are late but say nothing new.
    settle(pending_.size() - 1, events);
    pending_.back().slot = group_slot_;
    is_group_empty_ = false;
  }
  text_ += bytes;
  solid_ = text_.size();
  OpenWord& word = pending_.back();
  word.end = solid_;
  ++word.characters;
  word.weight += weight;
}

void Emission::settle(std::size_t count, std::vector<Event>& events) {
  if (count == 0) return;
  const double end = std::max(end_s(pending_.front().slot), last_end_s_);
  double guess = 0;
  for (std::size_t i = 0; i < count; ++i) guess += guessed_s(pending_[i].weight);
  // A word ends anywhere in its slot, half a slot before the slot's end on average.
  const double start = std::max(last_end_s_, end - token_s_ / 2 - guess);
  double passed = 0;
  last_end_s_ = start;
  for (std::size_t i = 0; i < count; ++i) {
    const OpenWord& open = pending_[i];
    passed += guessed_s(open.weight);
    Word word;
    word.start_s = last_end_s_;
    word.end_s = i + 1 == count ? end : start + (end - start) * (passed / guess);
    word.text = text_.substr(open.begin, open.end - open.begin);
    last_end_s_ = word.end_s;
    add_to_segment(open, std::move(word), events);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Emission::add_to_segment(const OpenWord& open, Word word, std::vector<Event>& events) {
  const auto between = static_cast<std::int64_t>(open.begin > segment_end_);
  if (!segment_.words.empty() && open.is_separate) {
    const std::int64_t characters = segment_characters_ + between + open.characters;
    if (word.start_s - segment_.end_s >= kPauseS || word.end_s - segment_.start_s > kSegmentMostS ||
        characters > kSegmentMostCharacters)
      close_segment(events);
  }
  if (segment_.words.empty()) {
    segment_begin_ = open.begin;
    segment_.start_s = word.start_s;
    is_segment_separate_ = open.is_separate;
    segment_characters_ = open.characters;
  } else {
    segment_characters_ += between + open.characters;
  }
  segment_end_ = open.end;
  segment_.end_s = word.end_s;
  const bool is_end = ends_sentence(word.text);
  segment_.words.push_back(word);
  events.push_back(WordDone{std::move(word)});
  if (is_end) close_segment(events);
}

void Emission::close_segment(std::vector<Event>& events) {
  if (segment_.words.empty()) return;
  const auto next = std::find_if(tokens_.begin(), tokens_.end(), [this](const TextToken& token) {
    return token.begin >= segment_end_;
  });
  for (auto token = tokens_.begin(); token != next; ++token) segment_.tokens.push_back(token->id);
  tokens_.erase(tokens_.begin(), next);
  segment_.text = text_.substr(segment_begin_, segment_end_ - segment_begin_);
  if (is_segment_separate_ || segments_.empty()) {
    segments_.push_back(segment_);
    closed_begin_ = segment_begin_;
  } else {
    // It goes on with the last word of one that was posted. Apart they would read as two words.
    Segment& last = segments_.back();
    last.end_s = segment_.end_s;
    last.text = text_.substr(closed_begin_, segment_end_ - closed_begin_);
    last.tokens.insert(last.tokens.end(), segment_.tokens.begin(), segment_.tokens.end());
    last.words.insert(last.words.end(), segment_.words.begin(), segment_.words.end());
  }
  events.push_back(SegmentDone{std::exchange(segment_, {})});
}

Transcript Emission::finish(double audio_s, std::vector<Event>& events) {
  const std::size_t first = events.size();
  const std::string rest = utf8_.finish();
  if (group_slot_ < 0) open_group(std::max<std::int64_t>(0, last_text_slot_), false);
  take(rest, std::max<std::int64_t>(0, last_text_slot_), events);
  settle(pending_.size(), events);
  // White space behind the last word belongs to its segment as far as ids go.
  for (TextToken& token : tokens_) token.begin = 0;
  close_segment(events);
  Transcript transcript;
  transcript.text = text_.substr(0, solid_);
  transcript.segments = std::move(segments_);
  if (!transcript.segments.empty()) {
    for (const TextToken& token : tokens_) transcript.segments.back().tokens.push_back(token.id);
  }
  for (Segment& segment : transcript.segments) clip(audio_s, segment);
  for (std::size_t i = first; i < events.size(); ++i) clip(audio_s, events[i]);
  return transcript;
}

}  // namespace verbatim::voxtral
