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

constexpr std::int64_t kLinesPerCue = 2;
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
    const bool first = (static_cast<std::int64_t>(lines.size()) - 1) % kLinesPerCue == 0;
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

void append_cues(std::vector<Cue>& cues, const Segment& segment, const std::vector<Line>& lines,
                 std::int32_t speaker) {
  const std::int64_t start_ms = rounded_time(segment.start_s, 3);
  const std::int64_t length_ms =
      std::max<std::int64_t>(0, rounded_time(segment.end_s, 3) - start_ms);
  std::int64_t total = 0;
  for (const Line& line : lines) total += line.characters;
  std::int64_t before = 0;
  std::int64_t begin_ms = start_ms;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i % kLinesPerCue == 0) cues.push_back({begin_ms, begin_ms, speaker, {}});
    cues.back().lines.push_back(lines[i].text);
    before += lines[i].characters;
    if (i % kLinesPerCue + 1 == kLinesPerCue || i + 1 == lines.size()) {
      // In double: length times characters may pass 2^63 only for times no recording has.
      const double share = static_cast<double>(before) / static_cast<double>(total);
      const auto end_ms = before == total ? start_ms + length_ms
                                          : start_ms + static_cast<std::int64_t>(std::llround(
                                                           static_cast<double>(length_ms) * share));
      cues.back().end_ms = begin_ms = std::max(end_ms, begin_ms + 1);
    }
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
