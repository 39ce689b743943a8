// Times are rounded on decimal digits, never by multiplying a double: that product has a rounding
// error of its own and puts exact halves on either side.
#include "transcript/fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json.h"
#include "transcript/characters.h"

namespace verbatim {

std::int64_t rounded_time(double seconds, int digits) {
  constexpr double kLongest = 1e12;  // thirty thousand years: keeps the units inside an int64
  if (!(seconds > 0)) return 0;
  std::array<char, 400> spelled{};
  const auto end = std::to_chars(spelled.data(), spelled.data() + spelled.size(),
                                 std::min(seconds, kLongest), std::chars_format::fixed);
  check(end.ec == std::errc(), "a double's decimal spelling fits");
  const std::string_view text(spelled.data(), static_cast<std::size_t>(end.ptr - spelled.data()));
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto digit = [&](std::size_t i) { return i < text.size() ? text[i] - '0' : 0; };
  std::int64_t units = 0;
  for (std::size_t i = 0; i < point; ++i) units = units * 10 + digit(i);
  for (int i = 1; i <= digits; ++i) units = units * 10 + digit(point + static_cast<std::size_t>(i));
  return units + (digit(point + static_cast<std::size_t>(digits) + 1) >= 5 ? 1 : 0);
}

std::string speaker_name(std::int32_t speaker) {
  return speaker < 0 ? std::string() : "Speaker " + std::to_string(speaker);
}

std::string speaker_letters(std::int64_t index) {
  std::string letters;
  for (; index >= 0; index = index / 26 - 1)
    letters.insert(letters.begin(), static_cast<char>('A' + index % 26));
  return letters;
}

bool is_non_speech(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  const std::string_view tag = text.substr(1, text.size() - 2);
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return tag[0] >= 'A' && tag[0] <= 'Z' &&
         std::all_of(tag.begin(), tag.end(), [&](char c) { return letter(c) || c == ' '; });
}

SegmentTimes segment_times(const Segment& segment, const Usage& usage) {
  return segment_times(segment.start_s, segment.end_s, usage);
}

SegmentTimes segment_times(double start_s, double end_s, const Usage& usage) {
  SegmentTimes times{rounded_time(start_s, 2), rounded_time(end_s, 2)};
  if (usage.audio_s > 0) {
    // Two decimals must not round past the duration, which is written with three.
    const std::int64_t last_cs = rounded_time(usage.audio_s, 3) / 10;
    times.start_cs = std::min(times.start_cs, last_cs);
    times.end_cs = std::min(times.end_cs, last_cs);
  }
  times.end_cs = std::max(times.end_cs, times.start_cs);
  return times;
}

void append_key(std::string& json, std::string_view key) {
  if (!json.empty() && json.back() != '{' && json.back() != '[') json.push_back(',');
  json.append("\"").append(key).append("\":");
}

void append_text(std::string& json, std::string_view key, std::string_view value) {
  append_key(json, key);
  append_json_string(json, value);
}

void append_number(std::string& json, std::string_view key, double value) {
  append_key(json, key);
  json += json_number(value);
}

void append_integer(std::string& json, std::string_view key, std::int64_t value) {
  append_key(json, key);
  json += std::to_string(value);
}

void append_segment_times(std::string& json, const SegmentTimes& times) {
  append_number(json, "start", static_cast<double>(times.start_cs) / 100);
  append_number(json, "end", static_cast<double>(times.end_cs) / 100);
}

void append_speaker_id(std::string& json, std::int32_t speaker) {
  append_key(json, "speaker_id");
  json += speaker < 0 ? "null" : std::to_string(speaker);
}

void append_speaker(std::string& json, std::int32_t speaker) {
  append_key(json, "speaker");
  if (speaker < 0) {
    json += "null";
  } else {
    append_json_string(json, speaker_name(speaker));
  }
}

void append_words(std::string& json, const std::vector<Word>& words, const Usage& usage) {
  for (const Word& word : words) {
    if (json.back() != '[') json.push_back(',');
    json.push_back('{');
    append_text(json, "word", word.text);
    append_segment_times(json, segment_times(word.start_s, word.end_s, usage));
    json.push_back('}');
  }
}

void append_usage(std::string& json, const Usage& usage) {
  append_key(json, "usage");
  const std::int64_t ms = rounded_time(usage.audio_s, 3);
  json += "{\"type\":\"duration\"";
  append_integer(json, "seconds", std::max<std::int64_t>(1, (ms + 999) / 1000));
  json.push_back('}');
}

void append_warnings(std::string& json, const std::vector<Warning>& warnings) {
  if (warnings.empty()) return;
  append_key(json, "warnings");
  json.push_back('[');
  for (const Warning& warning : warnings) {
    if (json.back() != '[') json.push_back(',');
    json.push_back('{');
    append_text(json, "code", warning.code);
    append_text(json, "message", warning.message);
    append_number(json, "start", static_cast<double>(rounded_time(warning.start_s, 2)) / 100);
    append_number(json, "end", static_cast<double>(rounded_time(warning.end_s, 2)) / 100);
    json.push_back('}');
  }
  json.push_back(']');
}

void append_duration(std::string& json, const Usage& usage) {
  append_number(json, "duration", static_cast<double>(rounded_time(usage.audio_s, 3)) / 1000);
}

std::string nist_time(std::int64_t cs) {
  return formatted("%lld.%02d", static_cast<long long>(cs / 100), static_cast<int>(cs % 100));
}

std::string recording_name(std::string_view source) {
  const std::size_t folder = source.find_last_of('/');
  if (folder != std::string_view::npos) source.remove_prefix(folder + 1);
  const std::size_t dot = source.find_last_of('.');
  if (dot != std::string_view::npos && dot > 0) {
    const std::string_view extension = source.substr(dot + 1);
    const auto small = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto plain = [&](char c) { return small(c) || (c >= '0' && c <= '9'); };
    if (extension.size() <= 5 && std::all_of(extension.begin(), extension.end(), plain) &&
        std::any_of(extension.begin(), extension.end(), small))
      source = source.substr(0, dot);
  }
  std::string name = one_line(source, '_');
  return name.empty() ? "audio" : name;
}

}  // namespace verbatim
