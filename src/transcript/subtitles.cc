// Line breaking and timing of subtitles.
#include "transcript/subtitles.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/utf8.h"
#include "transcript/characters.h"
#include "transcript/fields.h"

namespace verbatim {

namespace {

constexpr std::size_t kLinesPerCue = 2;
constexpr std::int64_t kShortestLine = 4;  // beside the prefix; a smaller limit counts as this

// A piece of text that never breaks.
struct Atom {
  std::string text;
  std::int64_t characters = 0;
  bool space_before = false;
};

struct Line {
  std::string text;
  std::int64_t characters = 0;
};

std::string without_arrows(std::string text) {
  // Repeated, because "--->" leaves "-->" behind.
  for (std::size_t at = 0; (at = text.find("-->", at)) != std::string::npos; at = at ? at - 1 : 0)
    text.erase(at, 1);
  return text;
}

std::vector<Atom> split_atoms(std::string_view text, std::int64_t longest) {
  std::vector<Atom> atoms;
  bool space = false;
  bool breakable = true;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character c = next_character(text.substr(i));
    i += c.length;
    if (c.code == ' ') {
      space = breakable = true;
      continue;
    }
    const bool starts = space || (!joins_previous(c.code) && (breakable || is_cjk(c.code)));
    if (atoms.empty() || starts || atoms.back().characters >= longest)
      atoms.push_back({{}, 0, space && !atoms.empty()});
    append_utf8(atoms.back().text, c.code);
    ++atoms.back().characters;
    space = false;
    breakable = is_cjk(c.code);
  }
  return atoms;
}

// Fills lines of at most `width` characters; the first line of each cue has `prefix` fewer.
std::vector<Line> fill_lines(const std::vector<Atom>& atoms, std::int64_t width,
                             std::int64_t prefix) {
  std::vector<Line> lines;
  for (const Atom& atom : atoms) {
    const bool first = lines.size() % kLinesPerCue == 1;
    const std::int64_t room = first ? width - prefix : width;
    const std::int64_t needed = atom.characters + (atom.space_before ? 1 : 0);
    if (lines.empty() || lines.back().characters + needed > room) {
      lines.push_back({atom.text, atom.characters});
      continue;
    }
    if (atom.space_before) lines.back().text.push_back(' ');
    lines.back().text += atom.text;
    lines.back().characters += needed;
  }
  return lines;
}

std::vector<Line> wrap(std::string_view text, std::int64_t max_line, std::int64_t prefix) {
  const std::int64_t width = std::max(max_line, prefix + kShortestLine);
  const std::vector<Atom> atoms = split_atoms(text, width - prefix);
  std::vector<Line> lines = fill_lines(atoms, width, prefix);
  std::int64_t longest = 0;
  for (const Atom& atom : atoms) longest = std::max(longest, atom.characters);
  for (std::int64_t narrower = width - 1; narrower >= longest + prefix; --narrower) {
    std::vector<Line> even = fill_lines(atoms, narrower, prefix);
    if (even.size() > lines.size()) break;
    lines = std::move(even);
  }
  return lines;
}

bool shows_speakers(const std::vector<Segment>& segments) {
  std::set<std::int32_t> speakers;
  for (const Segment& segment : segments)
    if (segment.speaker >= 0 && !trimmed(segment.text).empty()) speakers.insert(segment.speaker);
  return speakers.size() >= 2;
}

// A stretch of a segment's text and its time: a word, or all of the segment.
struct Part {
  std::int64_t characters = 0;
  std::int64_t start_ms = 0;
  std::int64_t end_ms = 0;
};

// `text` is one line.
std::int64_t count_solid(std::string_view text) {
  return count_characters(text) - std::count(text.begin(), text.end(), ' ');
}

// The segment's words, characters counted without blanks; none where they are not its text.
std::vector<Part> word_parts(const Segment& segment, const Part& whole, std::int64_t solid) {
  std::vector<Part> parts;
  std::int64_t counted = 0;
  for (const Word& word : segment.words) {
    const std::int64_t characters = count_solid(without_arrows(one_line(word.text)));
    if (characters == 0) continue;
    counted += characters;
    const auto within = [&](double seconds) {
      return std::clamp(rounded_time(seconds, 3), whole.start_ms, whole.end_ms);
    };
    parts.push_back({characters, within(word.start_s), within(word.end_s)});
  }
  if (parts.empty() || counted != solid) return {};
  parts.front().start_ms = whole.start_ms;
  parts.back().end_ms = whole.end_ms;
  return parts;
}

// Where the text between characters `begin` and `end` is in time; both lie within parts in
// proportion.
Part part_between(const std::vector<Part>& parts, std::int64_t begin, std::int64_t end) {
  Part found{end - begin, 0, 0};
  std::int64_t passed = 0;
  for (const Part& part : parts) {
    // In double: length times characters may pass 2^63 only for times no recording has.
    const auto moment = [&](std::int64_t character) {
      const double share =
          static_cast<double>(character - passed) / static_cast<double>(part.characters);
      const auto length = static_cast<double>(part.end_ms - part.start_ms);
      return part.start_ms + static_cast<std::int64_t>(std::llround(length * share));
    };
    const std::int64_t behind = passed + part.characters;
    if (begin >= passed && begin < behind) found.start_ms = moment(begin);
    if (end > passed && end <= behind) found.end_ms = moment(end);
    passed = behind;
  }
  return found;
}

void append_cues(std::vector<Cue>& cues, const Segment& segment, const std::vector<Line>& lines,
                 std::int32_t speaker) {
  Part whole{0, rounded_time(segment.start_s, 3), 0};
  whole.end_ms = std::max(whole.start_ms, rounded_time(segment.end_s, 3));
  std::int64_t solid = 0;
  for (const Line& line : lines) {
    whole.characters += line.characters;
    solid += count_solid(line.text);
  }
  std::vector<Part> parts = word_parts(segment, whole, solid);
  const bool has_words = !parts.empty();
  if (!has_words) parts.push_back(whole);
  std::int64_t passed = 0;
  std::int64_t last_ms = whole.start_ms;
  for (std::size_t i = 0; i < lines.size(); i += kLinesPerCue) {
    Cue cue;
    cue.speaker = speaker;
    std::int64_t behind = passed;
    for (std::size_t j = i; j < std::min(i + kLinesPerCue, lines.size()); ++j) {
      cue.lines.push_back(lines[j].text);
      behind += has_words ? count_solid(lines[j].text) : lines[j].characters;
    }
    const Part part = part_between(parts, passed, behind);
    cue.start_ms = std::max(part.start_ms, last_ms);
    cue.end_ms = last_ms = std::max(part.end_ms, cue.start_ms + 1);
    passed = behind;
    cues.push_back(std::move(cue));
  }
}

}  // namespace

std::vector<Cue> make_cues(const Transcript& transcript, const WriterOptions& options,
                           bool prefix_is_text) {
  const bool speakers = shows_speakers(transcript.segments);
  std::vector<Cue> cues;
  for (const Segment& segment : transcript.segments) {
    const std::string text = without_arrows(one_line(segment.text));
    if (text.empty()) continue;
    const std::int32_t speaker = speakers ? segment.speaker : -1;
    std::string prefix;
    if (prefix_is_text && speaker >= 0) prefix = "[" + speaker_name(speaker) + "] ";
    const std::size_t first = cues.size();
    append_cues(cues, segment,
                wrap(text, options.max_line_chars, static_cast<std::int64_t>(prefix.size())),
                speaker);
    for (std::size_t i = first; i < cues.size(); ++i) cues[i].lines[0].insert(0, prefix);
  }
  // WebVTT wants starts that never go back; where speakers overlap the model's order may.
  std::stable_sort(cues.begin(), cues.end(),
                   [](const Cue& a, const Cue& b) { return a.start_ms < b.start_ms; });
  return cues;
}

std::string cue_time(std::int64_t ms, char point) {
  const std::int64_t seconds = ms / 1000;
  return formatted("%02lld:%02d:%02d%c%03d", static_cast<long long>(seconds / 3600),
                   static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60), point,
                   static_cast<int>(ms % 1000));
}

}  // namespace verbatim
