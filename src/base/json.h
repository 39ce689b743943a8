// JSON helpers over Boost.JSON: parsing with named errors, checked reads of fields, and numbers as
// the output formats want them.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace verbatim {

// Parses `text`, which came from `source` (a path); decimals become the nearest double. Throws
// kCorrupt naming source, line and column; nesting deeper than 64 is refused.
boost::json::value parse_json(std::string_view text, std::string_view source);

// Appends `text` as a JSON string with its quotes. '/' and everything above U+001F but '"' and '\'
// stays raw; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// The shortest decimal that reads back as `value`; never an exponent for 1e-6 <= |value| < 1e15 and
// always with a fraction ("0.0"). "null" where JSON has no number: infinities and NaN.
std::string json_number(double value);

// A config file's object with reads that say what is wrong: the path, the field, what was found and
// what was expected. Paths of nested objects are joined with dots.
class JsonObject {
 public:
  // Throws kCorrupt when value is no object. `value` must outlive this.
  JsonObject(const boost::json::value& value, std::string path);

  bool has(std::string_view field) const;      // present and not null
  bool is_null(std::string_view field) const;  // present and null
  JsonObject object(std::string_view field) const;
  // Whole numbers within [low, high]; 12.0 counts as 12.
  std::int64_t integer(std::string_view field, std::int64_t low, std::int64_t high) const;
  std::int64_t integer_or(std::string_view field, std::int64_t fallback, std::int64_t low,
                          std::int64_t high) const;
  double number(std::string_view field) const;  // finite
  double number_or(std::string_view field, double fallback) const;
  bool boolean_or(std::string_view field, bool fallback) const;
  std::string string(std::string_view field) const;
  std::string string_or(std::string_view field, std::string_view fallback) const;
  const boost::json::value* find(std::string_view field) const;  // null when absent or null
  std::string name(std::string_view field) const;  // "config.json: decoder_config.hidden_size"

 private:
  JsonObject(const boost::json::value& value, std::string path, std::string parents);
  const boost::json::value& required(std::string_view field, const char* expected) const;
  std::int64_t whole(const boost::json::value& value, std::string_view field, std::int64_t low,
                     std::int64_t high) const;
  double finite(const boost::json::value& value, std::string_view field) const;

  const boost::json::object* object_ = nullptr;
  std::string path_;
  std::string parents_;  // "decoder_config." inside that field
};

}  // namespace verbatim
