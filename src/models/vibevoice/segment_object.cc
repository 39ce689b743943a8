// Reading of one object in two ways: pair by pair while it is JSON, else by a search for the keys.
#include "models/vibevoice/segment_object.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "models/vibevoice/json_text.h"

namespace verbatim::vibevoice {

namespace {

enum class Field : std::uint8_t { kStart, kEnd, kSpeaker, kContent };

struct Key {
  std::string_view spelling;
  Field field;
};

// Where two spellings of a field occur, the earlier one in this list counts.
constexpr std::array<Key, 16> kKeys{{{"Start", Field::kStart},
                                     {"Start time", Field::kStart},
                                     {"start_time", Field::kStart},
                                     {"start", Field::kStart},
                                     {"End", Field::kEnd},
                                     {"End time", Field::kEnd},
                                     {"end_time", Field::kEnd},
                                     {"end", Field::kEnd},
                                     {"Speaker", Field::kSpeaker},
                                     {"Speaker ID", Field::kSpeaker},
                                     {"speaker_id", Field::kSpeaker},
                                     {"speaker", Field::kSpeaker},
                                     {"Content", Field::kContent},
                                     {"content", Field::kContent},
                                     {"text", Field::kContent},
                                     {"Text", Field::kContent}}};

std::size_t rank_of(std::string_view key) {
  const auto* found = std::find_if(kKeys.begin(), kKeys.end(),
                                   [key](const Key& known) { return known.spelling == key; });
  return static_cast<std::size_t>(found - kKeys.begin());
}

bool begins_key(std::string_view start) {
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [start](const Key& known) { return known.spelling.starts_with(start); });
}

// Looks like a key, known or not: text that got into a key's place by a wrong quote does not.
bool is_name(std::string_view key) {
  constexpr std::size_t kLongest = 32;
  return key.size() <= kLongest && trimmed_ascii(key).size() == key.size() &&
         std::all_of(key.begin(), key.end(),
                     [](char c) { return is_word_character(c) || c == ' ' || c == '-'; });
}

enum class Kind : std::uint8_t { kString, kLiteral, kNested };

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Pair {
  std::size_t rank = kKeys.size();  // in kKeys; its size: a key of no field
  Kind kind = Kind::kLiteral;
  Range value;  // inside the quotes of a string
};

// A cursor over an object's text.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  bool is_done() const { return at >= text.size(); }
  char peek() const { return text[at]; }
  void skip_spaces() {
    while (!is_done() && is_space(peek())) ++at;
  }
};

// From behind the opening quote to behind the closing one; false when the text ends before it.
bool skip_string(Cursor& cursor, Range& inside) {
  inside.begin = cursor.at;
  for (; !cursor.is_done(); ++cursor.at) {
    if (cursor.peek() == '\\') {
      ++cursor.at;
    } else if (cursor.peek() == '"') {
      inside.end = cursor.at++;
      return true;
    }
  }
  cursor.at = inside.end = cursor.text.size();
  return false;
}

enum class Outcome : std::uint8_t { kWhole, kUnfinished, kMalformed };

bool is_json_word(std::string_view word) {
  return word == "true" || word == "false" || word == "null" ||
         word.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
}

Outcome skip_nested(Cursor& cursor) {
  constexpr std::string_view kStops = "{}[],:\" \t\r\n";
  std::size_t depth = 0;
  while (!cursor.is_done()) {
    const std::size_t begin = cursor.at;
    const char c = cursor.text[cursor.at++];
    Range inside;
    if (c == '"' && !skip_string(cursor, inside)) return Outcome::kUnfinished;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return Outcome::kWhole;
    if (kStops.find(c) != std::string_view::npos) continue;
    cursor.at = std::min(cursor.text.find_first_of(kStops, begin), cursor.text.size());
    if (!is_json_word(cursor.text.substr(begin, cursor.at - begin))) return Outcome::kMalformed;
  }
  return Outcome::kUnfinished;
}

// Outcome::kWhole: there may be more pairs behind this value.
Outcome read_value(Cursor& cursor, Pair& pair) {
  const char first = cursor.peek();
  Outcome outcome = Outcome::kWhole;
  if (first == '"') {
    ++cursor.at;
    pair.kind = Kind::kString;
    if (!skip_string(cursor, pair.value)) outcome = Outcome::kUnfinished;
  } else if (first == '{' || first == '[') {
    pair.kind = Kind::kNested;
    pair.value.begin = cursor.at;
    outcome = skip_nested(cursor);
    pair.value.end = cursor.at;
  } else {
    pair.value.begin = cursor.at;
    cursor.at =
        std::min(cursor.text.find_first_of(",}]{[\" \t\r\n", cursor.at), cursor.text.size());
    pair.value.end = cursor.at;
    const bool is_known = pair.rank < kKeys.size();
    const Field field = is_known ? kKeys[pair.rank].field : Field::kStart;
    const bool is_word =
        is_json_word(cursor.text.substr(pair.value.begin, pair.value.end - pair.value.begin));
    const bool may_be_text = field == Field::kContent || field == Field::kSpeaker;
    if (pair.value.begin == pair.value.end || (!is_word && !may_be_text))
      return Outcome::kMalformed;
    // A number that the text breaks off in is another number.
    if (cursor.is_done() && is_word && field != Field::kContent) pair.value.end = pair.value.begin;
  }
  if (outcome != Outcome::kWhole) return outcome;
  cursor.skip_spaces();
  if (cursor.is_done()) return Outcome::kUnfinished;
  return cursor.peek() == ',' || cursor.peek() == '}' ? Outcome::kWhole : Outcome::kMalformed;
}

Outcome read_pairs(std::string_view object, std::vector<Pair>& pairs) {
  Cursor cursor{object, 1};
  while (true) {
    while (!cursor.is_done() && (is_space(cursor.peek()) || cursor.peek() == ',')) ++cursor.at;
    if (cursor.is_done()) return Outcome::kUnfinished;
    if (cursor.peek() == '}')
      return has_word(object.substr(cursor.at)) ? Outcome::kMalformed : Outcome::kWhole;
    if (cursor.peek() != '"') return Outcome::kMalformed;
    ++cursor.at;
    Range key;
    skip_string(cursor, key);
    const std::string name = unescaped(object.substr(key.begin, key.end - key.begin));
    cursor.skip_spaces();
    if (cursor.is_done()) return begins_key(name) ? Outcome::kUnfinished : Outcome::kMalformed;
    if (cursor.peek() != ':' || !is_name(name)) return Outcome::kMalformed;
    ++cursor.at;
    cursor.skip_spaces();
    if (cursor.is_done()) return Outcome::kUnfinished;
    Pair pair;
    pair.rank = rank_of(name);
    const Outcome outcome = read_value(cursor, pair);
    if (outcome == Outcome::kMalformed) return outcome;
    pairs.push_back(pair);
    if (outcome == Outcome::kUnfinished) return outcome;
  }
}

std::string_view cut(std::string_view text, Range range) {
  return text.substr(range.begin, range.end - range.begin);
}

std::optional<double> number_in(std::string_view spelled) {
  const std::string_view text = trimmed_ascii(spelled);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return std::max(value, 0.0);
}

void set_speaker(ParsedSegment& segment, const std::string& spelled) {
  std::string_view number = trimmed_ascii(spelled);
  if (number.empty() || number == "null") return;
  constexpr std::string_view kPrefix = "peaker ";
  if ((number[0] == 'S' || number[0] == 's') && number.substr(1, kPrefix.size()) == kPrefix)
    number.remove_prefix(1 + kPrefix.size());
  const std::optional<double> value = number_in(number);
  if (value && number[0] != '-' && *value == std::floor(*value) &&
      *value <= std::numeric_limits<std::int32_t>::max()) {
    segment.speaker = static_cast<std::int32_t>(*value);
  } else {
    segment.speaker_label = std::string(trimmed_ascii(spelled));
  }
}

void append_text(std::string& text, std::string_view more) {
  if (more.empty()) return;
  if (!text.empty()) text.push_back(' ');
  text += more;
}

// All strings in a nested value that are no keys.
std::string nested_strings(std::string_view value) {
  std::string text;
  Cursor cursor{value, 0};
  while (!cursor.is_done()) {
    if (value[cursor.at++] != '"') continue;
    Range inside;
    skip_string(cursor, inside);
    cursor.skip_spaces();
    const std::string string = unescaped(cut(value, inside));
    if (cursor.is_done() || cursor.peek() != ':' || !is_name(string)) append_text(text, string);
  }
  return text;
}

std::string text_of(std::string_view object, const Pair& pair) {
  const std::string_view raw = cut(object, pair.value);
  if (pair.kind == Kind::kString) return unescaped(raw);
  if (pair.kind == Kind::kNested) return nested_strings(raw);
  const bool is_content = pair.rank < kKeys.size();
  return is_content && raw != "null" ? std::string(raw) : std::string();
}

// The pair of the field whose key ranks first; null when there is none.
const Pair* find_field(const std::vector<Pair>& pairs, Field field) {
  const Pair* best = nullptr;
  for (const Pair& pair : pairs)
    if (pair.rank < kKeys.size() && kKeys[pair.rank].field == field &&
        (best == nullptr || pair.rank <= best->rank))
      best = &pair;
  return best;
}

void set_times(ParsedSegment& segment, std::string_view start, std::string_view end) {
  if (const std::optional<double> value = number_in(start)) {
    segment.start_s = *value;
    segment.has_start = true;
  }
  if (const std::optional<double> value = number_in(end)) {
    segment.end_s = *value;
    segment.has_end = true;
  }
}

ParsedSegment from_pairs(std::string_view object, const std::vector<Pair>& pairs) {
  const auto spelled = [&](Field field) {
    const Pair* pair = find_field(pairs, field);
    if (pair == nullptr) return std::string();
    const std::string_view raw = cut(object, pair->value);
    return pair->kind == Kind::kString ? unescaped(raw) : std::string(raw);
  };
  ParsedSegment segment;
  set_times(segment, spelled(Field::kStart), spelled(Field::kEnd));
  set_speaker(segment, spelled(Field::kSpeaker));
  const Pair* content = find_field(pairs, Field::kContent);
  for (const Pair& pair : pairs) {
    const bool is_known = pair.rank < kKeys.size();
    if (is_known && kKeys[pair.rank].field != Field::kContent) continue;
    append_text(segment.text, text_of(object, pair));
    if (content == nullptr && pair.kind == Kind::kString && segment.text_end == 0) content = &pair;
  }
  if (content != nullptr) {
    segment.text_begin = content->value.begin;
    segment.text_end = content->value.end;
  }
  return segment;
}

// A key at `at`, in quotes of either kind or in none, with its colon: how long it is up to there.
std::size_t key_length(std::string_view text, std::size_t at, std::string_view key, bool quoted) {
  const char quote = at < text.size() && (text[at] == '"' || text[at] == '\'') ? text[at] : '\0';
  if (quoted && quote == '\0') return 0;
  std::size_t end = at + (quote != '\0' ? 1 : 0);
  if (text.substr(end, key.size()) != key) return 0;
  end += key.size();
  if (quote != '\0') {
    if (end >= text.size() || text[end] != quote) return 0;
    ++end;
  }
  while (end < text.size() && is_space(text[end])) ++end;
  return end < text.size() && text[end] == ':' ? end + 1 - at : 0;
}

bool is_any_key(std::string_view text, std::size_t at) {
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const Key& key) { return key_length(text, at, key.spelling, false) > 0; });
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// Is this what follows a value: the next key, the object's end or the text's?
bool ends_value(std::string_view text, std::size_t at) {
  at = skip_spaces(text, at);
  if (at < text.size() && text[at] == ',') {
    at = skip_spaces(text, at + 1);
    return at == text.size() || is_any_key(text, at);
  }
  return text.find_first_not_of("}], \t\r\n", at) == std::string_view::npos;
}

// A value in an object that is no JSON: up to the quote, comma or brace behind which the object
// goes on or ends, for quotes inside may lack their backslash. Returns where the rest begins.
std::size_t find_value(std::string_view object, std::size_t at, Range& value) {
  at = skip_spaces(object, at);
  const char quote =
      at < object.size() && (object[at] == '"' || object[at] == '\'') ? object[at] : ',';
  const bool is_quoted = quote != ',';
  value.begin = at + (is_quoted ? 1 : 0);
  for (std::size_t i = value.begin; i < object.size(); ++i) {
    if (object[i] == '\\') {
      ++i;
    } else if (object[i] == quote && ends_value(object, is_quoted ? i + 1 : i)) {
      value.end = i;
      return is_quoted ? i + 1 : i;
    }
  }
  // No end: all that is left but the closing brackets.
  value.end = object.size();
  const auto drop = [&](char c) {
    std::size_t end = value.end;
    while (end > value.begin && is_space(object[end - 1])) --end;
    if (end == value.begin || object[end - 1] != c) return false;
    value.end = end - 1;
    return true;
  };
  const std::size_t all = value.end;
  if (drop(']') && !drop('}')) value.end = all;
  if (value.end == all) drop('}');
  return object.size();
}

struct Found {
  Range whole;  // key and value
  Range value;
};

std::optional<Found> find_key(std::string_view object, Field field, bool quoted, Range within) {
  for (const Key& key : kKeys) {
    if (key.field != field) continue;
    for (std::size_t at = object.find(key.spelling, within.begin); at < within.end;
         at = object.find(key.spelling, at + 1)) {
      const bool has_quote = at > within.begin && (object[at - 1] == '"' || object[at - 1] == '\'');
      if (!has_quote && at > 0 && is_word_character(object[at - 1])) continue;
      const std::size_t begin = has_quote ? at - 1 : at;
      const std::size_t length = key_length(object, begin, key.spelling, quoted);
      if (length == 0) continue;
      Found found;
      found.whole = {begin, find_value(object.substr(0, within.end), begin + length, found.value)};
      return found;
    }
  }
  return std::nullopt;
}

// What is left of an object between the keys and values that were found.
std::string_view leftover(std::string_view object, Range range) {
  constexpr std::string_view kPunctuation = "{}[],:\"' \t\r\n";
  const std::string_view text = cut(object, range);
  const std::size_t first = text.find_first_not_of(kPunctuation);
  if (first == std::string_view::npos || !has_word(text)) return {};
  return text.substr(first, text.find_last_not_of(kPunctuation) - first + 1);
}

// The values of the other fields are short: a number ends with its last digit, a name at a comma,
// brace or quote, whatever follows.
void shorten_value(std::string_view object, Field field, Found& found) {
  const std::string_view value = cut(object, found.value);
  const bool is_number =
      field != Field::kSpeaker || (!value.empty() && value[0] >= '0' && value[0] <= '9');
  const std::size_t end =
      is_number ? value.find_first_not_of("0123456789.+-eE ") : value.find_first_of(",}\"'");
  if (end == std::string_view::npos) return;
  found.value.end = found.value.begin + end;
  const char stop = object[found.value.end];
  found.whole.end = found.value.end + (stop == '"' || stop == '\'' ? 1 : 0);
}

SegmentObject from_search(std::string_view object) {
  SegmentObject result;
  ParsedSegment& segment = result.segment;
  const Range all{0, object.size()};
  std::optional<Found> content = find_key(object, Field::kContent, true, all);
  if (!content) content = find_key(object, Field::kContent, false, all);
  const Range head{0, content ? content->whole.begin : object.size()};
  const Range tail{content ? content->whole.end : object.size(), object.size()};
  std::vector<Range> taken;
  const auto spelled = [&](Field field) {
    for (const Range& within : {head, tail}) {
      for (const bool quoted : {true, false}) {
        std::optional<Found> found = find_key(object, field, quoted, within);
        if (!found) continue;
        shorten_value(object, field, *found);
        taken.push_back(found->whole);
        return unescaped(cut(object, found->value));
      }
    }
    return std::string();
  };
  const std::string start = spelled(Field::kStart);
  set_times(segment, start, spelled(Field::kEnd));
  set_speaker(segment, spelled(Field::kSpeaker));
  result.has_known_key = content || !taken.empty();
  if (content) taken.push_back(content->whole);
  std::sort(taken.begin(), taken.end(), [](Range a, Range b) { return a.begin < b.begin; });
  std::size_t at = 0;
  for (const Range& range : taken) {
    if (range.begin > at) append_text(segment.text, leftover(object, {at, range.begin}));
    if (content && range.begin == content->whole.begin)
      append_text(segment.text, unescaped(cut(object, content->value)));
    at = std::max(at, range.end);
  }
  append_text(segment.text, leftover(object, {at, object.size()}));
  if (content) {
    segment.text_begin = content->value.begin;
    segment.text_end = content->value.end;
  }
  return result;
}

}  // namespace

bool starts_with_known_key(std::string_view text) {
  return !text.empty() && text[0] == '"' && is_any_key(text, 0);
}

bool has_content_key(std::string_view text) {
  return find_key(text, Field::kContent, true, {0, text.size()}).has_value();
}

SegmentObject read_segment_object(std::string_view object) {
  std::vector<Pair> pairs;
  if (read_pairs(object, pairs) == Outcome::kMalformed) return from_search(object);
  SegmentObject result;
  result.is_well_formed = true;
  result.segment = from_pairs(object, pairs);
  result.has_known_key = std::any_of(pairs.begin(), pairs.end(),
                                     [](const Pair& pair) { return pair.rank < kKeys.size(); });
  return result;
}

}  // namespace verbatim::vibevoice
