// The segment parser: how its input is cut does not matter, times are in order, ranges lie inside
// the text, and what a strict reader finds as Content is in some segment.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "models/vibevoice/segment_parser.h"
#include "models/vibevoice/strict_segments.h"

namespace {

using verbatim::check;
using verbatim::vibevoice::ParsedSegment;
using verbatim::vibevoice::SegmentParser;

constexpr double kDuration = 30;

void append(std::vector<ParsedSegment>& all, std::vector<ParsedSegment> more) {
  for (ParsedSegment& segment : more) all.push_back(std::move(segment));
}

bool is_equal(const ParsedSegment& a, const ParsedSegment& b) {
  return a.start_s == b.start_s && a.end_s == b.end_s && a.has_start == b.has_start &&
         a.has_end == b.has_end && a.speaker == b.speaker && a.speaker_label == b.speaker_label &&
         a.text == b.text && a.text_begin == b.text_begin && a.text_end == b.text_end;
}

// Pieces of one to eight bytes, their sizes drawn from `seed`.
std::vector<ParsedSegment> parse_in_pieces(std::string_view text, std::uint32_t seed,
                                           bool& closed) {
  SegmentParser parser;
  std::vector<ParsedSegment> all;
  while (!text.empty()) {
    seed = seed * 1664525U + 1013904223U;
    const std::size_t size = std::min<std::size_t>(text.size(), 1 + (seed >> 29));
    append(all, parser.feed(text.substr(0, size)));
    text.remove_prefix(size);
  }
  append(all, parser.finish(kDuration));
  closed = parser.is_closed();
  return all;
}

// Contents of an array of plain objects with the four keys; empty when the text is anything else.
std::vector<std::string> strict_contents(std::string_view text) {
  namespace json = boost::json;
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  std::vector<std::string> contents;
  if (error || !value.is_array()) return contents;
  for (const json::value& item : value.get_array()) {
    if (!item.is_object()) return {};
    for (const auto& [key, field] : item.get_object()) {
      const bool is_known = key == "Start" || key == "End" || key == "Speaker" || key == "Content";
      if (!is_known || field.is_structured()) return {};
      if (key == "Content" && field.is_string())
        contents.emplace_back(field.get_string().data(), field.get_string().size());
    }
  }
  return contents;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  SegmentParser parser;
  std::vector<ParsedSegment> whole = parser.feed(text);
  append(whole, parser.finish(kDuration));

  bool closed = false;
  const std::vector<ParsedSegment> pieces =
      parse_in_pieces(text, static_cast<std::uint32_t>(size) * 2654435761U + 1, closed);
  check(closed == parser.is_closed() && whole.size() == pieces.size(), "cuts do not matter");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    check(is_equal(whole[i], pieces[i]), "cuts change no segment");
    check(0 <= whole[i].start_s && whole[i].start_s <= whole[i].end_s, "times are in order");
    check(whole[i].text_begin <= whole[i].text_end && whole[i].text_end <= size,
          "the range lies inside the text");
  }
  for (const std::string& content : strict_contents(text)) {
    bool is_found = content.empty();
    for (const ParsedSegment& segment : whole)
      is_found = is_found || segment.text.find(content) != std::string::npos;
    check(is_found, "no Content is lost");
  }
  std::vector<verbatim::vibevoice::StrictSegment> strict;
  std::string stripped;
  verbatim::vibevoice::parse_strict_ms(text);
  verbatim::vibevoice::parse_strict_hf(text, strict, stripped);
  return 0;
}
