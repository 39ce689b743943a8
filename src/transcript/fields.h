// What several writers share: times, speakers, and pieces of the JSON bodies (sections 6.5 and 6.6
// of the HTTP API contract).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transcript/event.h"

namespace verbatim {

// `seconds` in units of 10^-digits s, rounded half up on its decimal spelling: 59.9995 gives 60000
// with three digits although the double is a little less. Negative and not-a-number count as 0.
std::int64_t rounded_time(double seconds, int digits);

// "Speaker 3"; empty for -1.
std::string speaker_name(std::int32_t speaker);

// A, B ... Z, AA, AB ... for 0, 1 ...
std::string speaker_letters(std::int64_t index);

// The whole text is one tag: [Music], [Human Sounds].
bool is_non_speech(std::string_view text);

// A segment's times in hundredths of a second with 0 <= start <= end <= the audio's duration.
struct SegmentTimes {
  std::int64_t start_cs = 0;
  std::int64_t end_cs = 0;
};
SegmentTimes segment_times(double start_s, double end_s, const Usage& usage);
SegmentTimes segment_times(const Segment& segment, const Usage& usage);

// Appends `,"key":` (without the comma after an opening bracket) and what belongs to it.
void append_key(std::string& json, std::string_view key);
void append_text(std::string& json, std::string_view key, std::string_view value);
void append_number(std::string& json, std::string_view key, double value);
void append_integer(std::string& json, std::string_view key, std::int64_t value);
void append_segment_times(std::string& json, const SegmentTimes& times);
// "speaker_id" and "speaker": null where the segment has none.
void append_speaker_id(std::string& json, std::int32_t speaker);
void append_speaker(std::string& json, std::int32_t speaker);
// {"word","start","end"} each, behind a comma but for the first.
void append_words(std::string& json, const std::vector<Word>& words, const Usage& usage);
// "usage" in the duration form, and "warnings" when there are any.
void append_usage(std::string& json, const Usage& usage);
void append_warnings(std::string& json, const std::vector<Warning>& warnings);
void append_duration(std::string& json, const Usage& usage);

// Seconds with two decimals.
std::string nist_time(std::int64_t cs);

// The recording's name in NIST formats: the file's name without folder and extension, blanks as
// '_'.
std::string recording_name(std::string_view source);

}  // namespace verbatim
