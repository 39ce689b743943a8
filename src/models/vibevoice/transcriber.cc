// Tokens become text, text becomes segments, and what is not whole is said.
#include "models/vibevoice/transcriber.h"

#include <algorithm>

namespace verbatim::vibevoice {
namespace {

// How far a time may lie behind the audio's end before it is reported: the model writes tenths or
// hundredths of a second and rounds up.
constexpr double kTimeSlack = 0.2;
constexpr double kUncoveredLimit = 10;

}  // namespace

std::vector<Segment> Transcriber::push(std::int32_t token) {
  tokens_.push_back(token);
  is_looping_ = is_looping_ || loop_.push(token);
  if (tokenizer_.is_special(token)) return {};
  const std::string text = utf8_.feed(tokenizer_.bytes(token));
  const std::size_t begin = parser_.text().size();
  std::vector<Segment> segments;
  for (ParsedSegment& parsed : parser_.feed(text)) {
    parsed_.push_back(std::move(parsed));
    segments.push_back(Segment{});
  }
  const std::size_t end = parser_.text().size();
  if (end > begin) {
    // Tokens that ended inside a character have their part in what made it whole.
    for (; open_ < pieces_.size(); ++open_) pieces_[open_].end = begin + 1;
  }
  pieces_.push_back({begin, end, token});
  if (!utf8_.is_inside()) open_ = pieces_.size();
  const std::size_t first = parsed_.size() - segments.size();
  for (std::size_t i = 0; i < segments.size(); ++i) segments[i] = made(parsed_[first + i]);
  return segments;
}

Segment Transcriber::made(const ParsedSegment& parsed) const {
  Segment segment;
  segment.start_s = parsed.start_s;
  segment.end_s = parsed.end_s;
  segment.speaker = parsed.speaker;
  segment.text = parsed.text;
  const auto from =
      std::lower_bound(pieces_.begin(), pieces_.end(), parsed.text_begin,
                       [](const Piece& piece, std::size_t at) { return piece.end <= at; });
  for (auto it = from; it != pieces_.end() && it->begin < parsed.text_end; ++it) {
    segment.tokens.push_back(it->token);
  }
  return segment;
}

Transcript Transcriber::finish(double duration_s, const std::vector<Interval>& speech,
                               std::vector<Warning> more, bool ended_by_itself) {
  const std::string rest = utf8_.finish();
  for (ParsedSegment& parsed : parser_.feed(rest)) parsed_.push_back(std::move(parsed));
  for (ParsedSegment& parsed : parser_.finish(duration_s)) parsed_.push_back(std::move(parsed));
  Transcript transcript;
  transcript.warnings = std::move(more);
  Warning beyond;
  for (const ParsedSegment& parsed : parsed_) {
    Segment segment = made(parsed);
    const double furthest = std::max(segment.start_s, segment.end_s);
    if (furthest > duration_s + kTimeSlack && furthest > beyond.end_s) {
      beyond.code = "times_beyond_audio";
      beyond.start_s = duration_s;
      beyond.end_s = furthest;
    }
    segment.start_s = std::clamp(segment.start_s, 0.0, duration_s);
    segment.end_s = std::clamp(segment.end_s, segment.start_s, duration_s);
    transcript.segments.push_back(std::move(segment));
  }
  if (beyond.code[0] != '\0') {
    beyond.message =
        formatted("the model gave times up to %.2f s for %.2f s of audio; they were cut to its end",
                  beyond.end_s, duration_s);
    transcript.warnings.push_back(beyond);
  }
  if (!tokens_.empty() && ended_by_itself && !parser_.is_closed()) {
    transcript.warnings.push_back(
        {"unclosed_json",
         "the model's list of segments was not closed; what could be read of it is kept", 0,
         duration_s});
  }
  const Uncovered hole = uncovered_speech(speech, transcript.segments);
  if (hole.total_s > kUncoveredLimit) {
    transcript.warnings.push_back(
        {"uncovered",
         formatted("%.1f s of speech are in no segment, most of it from %.2f s to %.2f s",
                   hole.total_s, hole.start_s, hole.end_s),
         hole.start_s, hole.end_s});
  }
  transcript.text = join_texts(transcript.segments);
  transcript.usage.audio_s = duration_s;
  transcript.usage.output_tokens = static_cast<std::int64_t>(tokens_.size());
  return transcript;
}

Uncovered uncovered_speech(const std::vector<Interval>& speech,
                           const std::vector<Segment>& segments) {
  std::vector<std::pair<double, double>> covered;
  covered.reserve(segments.size());
  for (const Segment& segment : segments) covered.emplace_back(segment.start_s, segment.end_s);
  std::sort(covered.begin(), covered.end());
  Uncovered found;
  const auto hole = [&](double start, double end) {
    if (end <= start) return;
    found.total_s += end - start;
    if (end - start > found.end_s - found.start_s) {
      found.start_s = start;
      found.end_s = end;
    }
  };
  for (const Interval& interval : speech) {
    double at = interval.start_s;
    for (const auto& [start, end] : covered) {
      if (end <= at) continue;
      if (start >= interval.end_s) break;
      hole(at, std::min(start, interval.end_s));
      at = std::max(at, end);
    }
    hole(at, interval.end_s);
  }
  return found;
}

}  // namespace verbatim::vibevoice
