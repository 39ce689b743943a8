// The two reference parsers, value for value, over Boost.JSON. Where Python's json module takes
// more than JSON (NaN, Infinity, lone surrogates) these fail.
#include "models/vibevoice/strict_segments.h"

#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <utility>

#include "base/json.h"

namespace verbatim::vibevoice {

namespace {

namespace json = boost::json;

constexpr std::string_view kBlanks = " \t\n\r\f\v";

std::string_view stripped_of_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

json::parse_options options() {
  json::parse_options options;
  options.max_depth = 900;  // about where Python's decoder gives up
  options.allow_invalid_utf8 = true;
  return options;
}

std::string spelled(const json::value& value) {
  std::string out;
  if (value.is_string()) {
    append_json_string(out, std::string_view(value.get_string().data(), value.get_string().size()));
  } else if (value.is_double()) {
    out = json_number(value.get_double());
  } else if (value.is_array()) {
    for (const json::value& element : value.get_array())
      out += (out.empty() ? "" : ",") + spelled(element);
    out = "[" + out + "]";
  } else if (value.is_object()) {
    for (const auto& [key, element] : value.get_object()) {
      out += out.empty() ? "" : ",";
      append_json_string(out, std::string_view(key.data(), key.size()));
      out += ":" + spelled(element);
    }
    out = "{" + out + "}";
  } else {
    const json::string text(json::serialize(value));
    out.assign(text.data(), text.size());
  }
  return out;
}

// What the reference hands to its JSON parser. It counts brackets inside strings too.
std::string_view ms_candidate(std::string_view text) {
  constexpr std::string_view kOpen = "```json";
  const std::size_t fence = text.find(kOpen);
  if (fence != std::string_view::npos) {
    const std::string_view inside = text.substr(fence + kOpen.size());
    const std::size_t end = inside.find("```");
    if (end != std::string_view::npos) return stripped_of_blanks(inside.substr(0, end));
    // Python's find gives -1 then, and the slice loses the last character.
    std::size_t last = inside.size();
    while (last > 0 && (static_cast<unsigned char>(inside[last - 1]) & 0xC0U) == 0x80U) --last;
    return stripped_of_blanks(inside.substr(0, last > 0 ? last - 1 : 0));
  }
  std::size_t begin = text.find('[');
  if (begin == std::string_view::npos) begin = text.find('{');
  if (begin == std::string_view::npos) return text;
  std::int64_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++depth;
    if ((text[i] == ']' || text[i] == '}') && --depth == 0)
      return text.substr(begin, i + 1 - begin);
  }
  return {};
}

// The longer spelling first: where both occur the reference keeps the short one's value.
StrictSegment ms_segment(const json::object& item) {
  struct Key {
    std::string_view name;
    std::string StrictSegment::*field;
  };
  static constexpr std::array<Key, 7> kKeys{{{"Start time", &StrictSegment::start},
                                             {"Start", &StrictSegment::start},
                                             {"End time", &StrictSegment::end},
                                             {"End", &StrictSegment::end},
                                             {"Speaker ID", &StrictSegment::speaker},
                                             {"Speaker", &StrictSegment::speaker},
                                             {"Content", &StrictSegment::text}}};
  StrictSegment segment;
  for (const Key& key : kKeys)
    if (const json::value* value = item.if_contains({key.name.data(), key.name.size()}))
      segment.*key.field = spelled(*value);
  return segment;
}

// Values of the array while they can be read; what follows the first failure is left.
json::array leading_values(std::string_view text) {
  json::array values;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\n\r,");
    if (begin == std::string_view::npos) return values;
    text.remove_prefix(begin);
    json::stream_parser parser(json::storage_ptr(), options());
    json::error_code error;
    const std::size_t used = parser.write_some(text.data(), text.size(), error);
    if (!error && !parser.done()) parser.finish(error);
    if (error) return values;
    values.push_back(parser.release());
    text.remove_prefix(used);
  }
}

// A time as the reference converts it; false where it gives up.
bool hf_time(const json::object& item, std::string_view key, std::string& out) {
  const json::value* value = item.if_contains({key.data(), key.size()});
  if (value == nullptr) return true;
  if (value->is_null()) {
    out = "null";
  } else if (value->is_bool()) {
    out = value->get_bool() ? "1.0" : "0.0";
  } else if (value->is_number()) {
    out = json_number(value->to_number<double>());
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<StrictSegment> parse_strict_ms(std::string_view text) {
  const std::string_view candidate = ms_candidate(text);
  json::error_code error;
  json::value value = json::parse({candidate.data(), candidate.size()}, error, {}, options());
  std::vector<StrictSegment> segments;
  if (error) return segments;
  if (value.is_object()) value = json::array{value};
  if (!value.is_array()) return segments;
  for (const json::value& item : value.get_array()) {
    if (!item.is_object()) continue;
    StrictSegment segment = ms_segment(item.get_object());
    const bool is_empty = segment.start.empty() && segment.end.empty() && segment.speaker.empty() &&
                          segment.text.empty();
    if (!is_empty) segments.push_back(std::move(segment));
  }
  return segments;
}

bool parse_strict_hf(std::string_view text, std::vector<StrictSegment>& out,
                     std::string& stripped) {
  constexpr std::string_view kHeader = "assistant";
  out.clear();
  std::string_view body = stripped_of_blanks(text);
  if (body.starts_with(kHeader)) body = stripped_of_blanks(body.substr(kHeader.size()));
  stripped = std::string(body);
  if (body.empty() || body[0] != '[') return false;
  json::error_code error;
  json::value value = json::parse({body.data(), body.size()}, error, {}, options());
  json::array values;
  if (error) {
    values = leading_values(body.substr(1));
    if (values.empty()) return false;
  } else {
    values = value.get_array();
  }
  std::vector<StrictSegment> segments;
  for (const json::value& item : values) {
    const json::object* object = item.if_object();
    if (object == nullptr || !object->contains("Content")) return false;
    StrictSegment segment;
    if (!hf_time(*object, "Start", segment.start) || !hf_time(*object, "End", segment.end))
      return false;
    if (const json::value* speaker = object->if_contains("Speaker"))
      segment.speaker = spelled(*speaker);
    segment.text = spelled(object->at("Content"));
    segments.push_back(std::move(segment));
  }
  out = std::move(segments);
  return true;
}

}  // namespace verbatim::vibevoice
