// Cues of the two subtitle formats. A segment's text is wrapped at max_line_chars characters, two
// lines a cue; what is longer becomes several cues, which begin and end with their words, or divide
// the segment's time in proportion to their characters where word times are unknown. Lines are as
// even as the least number of lines allows. Words break only where they alone are too long; scripts
// without spaces break anywhere but before closing punctuation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transcript/event.h"
#include "transcript/writer.h"

namespace verbatim {

struct Cue {
  std::int64_t start_ms = 0;
  std::int64_t end_ms = 0;         // >= start_ms + 1
  std::int32_t speaker = -1;       // -1: not shown
  std::vector<std::string> lines;  // one or two, valid UTF-8, without blank ones and "-->"
};

// In order of start time. The speaker is shown when at least two different ones have text; it then
// stands on each of a segment's cues. prefix_is_text: "[Speaker 0] " is part of the first line and
// counts towards its length.
std::vector<Cue> make_cues(const Transcript& transcript, const WriterOptions& options,
                           bool prefix_is_text);

// HH:MM:SS and the milliseconds after `point`; hours may have more than two digits.
std::string cue_time(std::int64_t ms, char point);

}  // namespace verbatim
