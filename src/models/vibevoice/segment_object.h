// One object of the model's array, read tolerantly:
// {"Start":..,"End":..,"Speaker":..,"Content":".."}.
#pragma once

#include <string>
#include <string_view>

#include "models/vibevoice/segment_parser.h"

namespace verbatim::vibevoice {

struct SegmentObject {
  ParsedSegment segment;        // text_begin and text_end count from the object's brace
  bool is_well_formed = false;  // as far as it goes: an object may end before its brace
  bool has_known_key = false;
};

// `object` starts at its brace. The text is every string in it that is no key and no speaker: the
// Content, and whatever else stands there where the model strayed from its format. An object that
// is no JSON is searched for the keys instead, with or without quotes around them.
SegmentObject read_segment_object(std::string_view object);

// Does `text` start with one of the keys (any spelling) in quotes, and a colon behind it?
bool starts_with_known_key(std::string_view text);

// Does a Content key (any spelling) in quotes stand in `text`?
bool has_content_key(std::string_view text);

}  // namespace verbatim::vibevoice
