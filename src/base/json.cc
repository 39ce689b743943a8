// JSON over Boost.JSON. Only decimals are read by ourselves: Boost's own reading of them may be off
// by a unit in the last place.
#include "base/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace verbatim {
namespace json = boost::json;
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxFound = 60;  // bytes of a wrong value that a message shows

// Builds values as the parser meets their parts. The names are those that boost::json::basic_parser
// calls.
struct Builder {
  // NOLINTBEGIN(readability-identifier-naming): Boost's names.
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();
  // NOLINTEND(readability-identifier-naming)
  using View = json::string_view;
  using Failure = json::error_code;

  bool on_document_begin(Failure&) { return true; }
  bool on_document_end(Failure&) { return true; }
  bool on_object_begin(Failure&) { return true; }
  bool on_array_begin(Failure&) { return true; }
  bool on_object_end(std::size_t size, Failure&) { return stack.push_object(size), true; }
  bool on_array_end(std::size_t size, Failure&) { return stack.push_array(size), true; }
  bool on_key_part(View text, std::size_t, Failure&) { return stack.push_chars(text), true; }
  bool on_key(View text, std::size_t, Failure&) { return stack.push_key(text), true; }
  bool on_string_part(View text, std::size_t, Failure&) { return stack.push_chars(text), true; }
  bool on_string(View text, std::size_t, Failure&) { return stack.push_string(text), true; }
  bool on_number_part(View, Failure&) { return true; }
  bool on_int64(std::int64_t value, View, Failure&) { return stack.push_int64(value), true; }
  bool on_uint64(std::uint64_t value, View, Failure&) { return stack.push_uint64(value), true; }
  bool on_double(double value, View text, Failure&) {
    double nearest = value;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), nearest);
    // Beyond the range from_chars keeps out of the way: infinity or zero, as Boost has it.
    return stack.push_double(result.ec == std::errc() ? nearest : value), true;
  }
  bool on_bool(bool value, Failure&) { return stack.push_bool(value), true; }
  bool on_null(Failure&) { return stack.push_null(), true; }
  bool on_comment_part(View, Failure&) { return true; }
  bool on_comment(View, Failure&) { return true; }

  json::value_stack stack;
};

[[noreturn]] void fail_at(std::string_view text, std::size_t offset, std::string_view source,
                          const std::string& reason) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t last = before.rfind('\n');
  const std::size_t column = last == std::string_view::npos ? offset + 1 : offset - last;
  fail(Code::kCorrupt, "%.*s: line %lld, column %zu: %s", static_cast<int>(source.size()),
       source.data(), static_cast<long long>(line), column, reason.c_str());
}

std::string found(const json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_double()) return json_number(value.get_double());
  std::string text = json::serialize(value);
  if (text.size() > kMaxFound) text = text.substr(0, kMaxFound) + "...";
  return text;
}

}  // namespace

json::value parse_json(std::string_view text, std::string_view source) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Builder> parser(options);
  parser.handler().stack.reset();
  json::error_code error;
  const std::size_t consumed = parser.write_some(false, text.data(), text.size(), error);
  if (error) fail_at(text, consumed, source, "expected JSON, found: " + error.message());
  if (consumed != text.size()) {
    fail_at(text, consumed, source, "expected nothing behind the first JSON value");
  }
  return parser.handler().stack.release();
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kShort = "\b\f\n\r\t";
  out.push_back('"');
  while (!text.empty()) {
    const char first = text.front();
    const Utf8Character character = next_character(text);
    if (character.status != Utf8Status::kWhole) {
      append_utf8(out, kReplacementCharacter);
    } else if (first == '"' || first == '\\') {
      out.push_back('\\');
      out.push_back(first);
    } else if (static_cast<unsigned char>(first) >= 0x20) {
      out.append(text.substr(0, character.length));
    } else if (const std::size_t known = kShort.find(first); known != std::string_view::npos) {
      out.push_back('\\');
      out.push_back("bfnrt"[known]);
    } else {
      out += "\\u00";
      out.push_back(kHex[static_cast<std::size_t>(first) >> 4]);
      out.push_back(kHex[static_cast<std::size_t>(first) & 15]);
    }
    text.remove_prefix(character.length);
  }
  out.push_back('"');
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits, end.ptr);
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

JsonObject::JsonObject(const json::value& value, std::string path)
    : JsonObject(value, std::move(path), "") {}

JsonObject::JsonObject(const json::value& value, std::string path, std::string parents)
    : object_(value.if_object()), path_(std::move(path)), parents_(std::move(parents)) {
  if (object_ != nullptr) return;
  std::string where = path_;
  if (!parents_.empty()) where += ": " + parents_.substr(0, parents_.size() - 1);
  fail(Code::kCorrupt, "%s: expected an object, found %s", where.c_str(), found(value).c_str());
}

std::string JsonObject::name(std::string_view field) const {
  return path_ + ": " + parents_ + std::string(field);
}

const json::value* JsonObject::find(std::string_view field) const {
  const json::value* const value = object_->if_contains(field);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

bool JsonObject::is_null(std::string_view field) const {
  const boost::json::value* found = object_->if_contains(field);
  return found != nullptr && found->is_null();
}

bool JsonObject::has(std::string_view field) const {
  return find(field) != nullptr;
}

const json::value& JsonObject::required(std::string_view field, const char* expected) const {
  const json::value* const value = find(field);
  if (value == nullptr) {
    fail(Code::kCorrupt, "%s: expected %s, found nothing", name(field).c_str(), expected);
  }
  return *value;
}

JsonObject JsonObject::object(std::string_view field) const {
  return JsonObject(required(field, "an object"), path_, parents_ + std::string(field) + ".");
}

std::int64_t JsonObject::whole(const json::value& value, std::string_view field, std::int64_t low,
                               std::int64_t high) const {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  bool is_whole = value.is_int64();
  std::int64_t result = is_whole ? value.get_int64() : 0;
  if (value.is_double()) {
    const double number = value.get_double();
    is_whole = number >= -kTwoTo63 && number < kTwoTo63 && std::trunc(number) == number;
    if (is_whole) result = static_cast<std::int64_t>(number);
  }
  if (!is_whole || result < low || result > high) {
    fail(Code::kCorrupt, "%s: expected a whole number from %lld to %lld, found %s",
         name(field).c_str(), static_cast<long long>(low), static_cast<long long>(high),
         found(value).c_str());
  }
  return result;
}

std::int64_t JsonObject::integer(std::string_view field, std::int64_t low,
                                 std::int64_t high) const {
  return whole(required(field, "a whole number"), field, low, high);
}

std::int64_t JsonObject::integer_or(std::string_view field, std::int64_t fallback, std::int64_t low,
                                    std::int64_t high) const {
  const json::value* const value = find(field);
  return value != nullptr ? whole(*value, field, low, high) : fallback;
}

double JsonObject::finite(const json::value& value, std::string_view field) const {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (value.is_int64()) number = static_cast<double>(value.get_int64());
  if (value.is_uint64()) number = static_cast<double>(value.get_uint64());
  if (value.is_double()) number = value.get_double();
  if (!std::isfinite(number)) {
    fail(Code::kCorrupt, "%s: expected a finite number, found %s", name(field).c_str(),
         found(value).c_str());
  }
  return number;
}

double JsonObject::number(std::string_view field) const {
  return finite(required(field, "a number"), field);
}

double JsonObject::number_or(std::string_view field, double fallback) const {
  const json::value* const value = find(field);
  return value != nullptr ? finite(*value, field) : fallback;
}

bool JsonObject::boolean_or(std::string_view field, bool fallback) const {
  const json::value* const value = find(field);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) {
    fail(Code::kCorrupt, "%s: expected true or false, found %s", name(field).c_str(),
         found(*value).c_str());
  }
  return value->get_bool();
}

std::string JsonObject::string(std::string_view field) const {
  const json::value& value = required(field, "a string");
  if (!value.is_string()) {
    fail(Code::kCorrupt, "%s: expected a string, found %s", name(field).c_str(),
         found(value).c_str());
  }
  const json::string& text = value.get_string();
  return std::string(text.data(), text.size());
}

std::string JsonObject::string_or(std::string_view field, std::string_view fallback) const {
  return has(field) ? string(field) : std::string(fallback);
}

}  // namespace verbatim
