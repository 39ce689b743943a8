// Flags over CLI11, which finds names and values; their meaning, the environment and every message
// are ours.
#include "cli/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "audio/source.h"
#include "base/error.h"

namespace verbatim {
namespace {

constexpr double kMaxSeconds = 1e7;  // over a hundred days

std::string variable_of(std::string_view name) {
  std::string variable = "VERBATIM_";
  for (const char c : name.substr(2)) {
    variable.push_back(c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
  }
  return variable;
}

// Null where the variable is absent or empty.
const char* environment(const std::string& variable) {
  // The environment is read before the first thread starts.
  const char* const value = std::getenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr || *value == '\0' ? nullptr : value;
}

std::string shortest(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return std::string(digits, end);
}

// A whole decimal number, or nothing: no hexadecimal, no infinities, no spaces.
bool parse_number(std::string_view text, double& value) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return false;
  if (text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// What a range allows, as a message says it; for whole numbers without exponents.
std::string range_text(const char* kind, const Range& range, bool whole) {
  const auto bound = [&](double value) {
    return whole ? formatted("%lld", static_cast<long long>(value)) : shortest(value);
  };
  if (range.above_low)
    return formatted("%s above %s and up to %s", kind, bound(range.low).c_str(),
                     bound(range.high).c_str());
  if (whole && range.high > 1e15) return formatted("%s from %s", kind, bound(range.low).c_str());
  return formatted("%s from %s to %s", kind, bound(range.low).c_str(), bound(range.high).c_str());
}

bool in_range(double value, const Range& range) {
  return (range.above_low ? value > range.low : value >= range.low) && value <= range.high;
}

std::string joined(const std::vector<std::string>& pieces, const char* between) {
  std::string all;
  for (const std::string& piece : pieces) all += (all.empty() ? "" : between) + piece;
  return all;
}

// Insertions, deletions and replacements between two names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

bool parse_toggle(const std::string& origin, const std::string& text) {
  for (const char* const yes : {"1", "true", "yes", "on"})
    if (text == yes) return true;
  for (const char* const no : {"0", "false", "no", "off"})
    if (text == no) return false;
  fail(Code::kInvalidArgument, "%s: expected 1 or 0, found '%s'", origin.c_str(), text.c_str());
}

void append_pieces(std::vector<std::string>& to, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(",\n");
    const std::string piece(trim(text.substr(0, end)));
    if (!piece.empty() && std::find(to.begin(), to.end(), piece) == to.end()) to.push_back(piece);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

Flags::Flags(std::string usage, std::string summary)
    : usage_(std::move(usage)), summary_(std::move(summary)) {}

void Flags::section(std::string title) {
  sections_.emplace_back(flags_.size(), std::move(title));
}

Flags::Flag& Flags::add(const char* name, std::string value, const char* help) {
  Flag flag;
  flag.name = name;
  flag.value = std::move(value);
  flag.text = help;
  flags_.push_back(std::move(flag));
  return flags_.back();
}

void Flags::toggle(bool& to, const char* name, const char* help) {
  add(name, "", help).convert = [&to](const std::string& origin,
                                      const std::vector<std::string>& values) {
    to = parse_toggle(origin, values.back());
  };
}

void Flags::text(std::string& to, const char* name, const char* value, const char* help) {
  Flag& flag = add(name, value, help);
  flag.preset = to;
  flag.convert = [&to](const std::string& origin, const std::vector<std::string>& values) {
    if (values.back().empty())
      fail(Code::kInvalidArgument, "%s: expected a value, found nothing", origin.c_str());
    to = values.back();
  };
}

void Flags::choice(std::string& to, const char* name, std::vector<std::string> allowed,
                   const char* help) {
  Flag& flag = add(name, joined(allowed, "|"), help);
  flag.preset = to;
  flag.convert = [&to, allowed = std::move(allowed)](const std::string& origin,
                                                     const std::vector<std::string>& values) {
    if (std::find(allowed.begin(), allowed.end(), values.back()) == allowed.end())
      fail(Code::kInvalidArgument, "%s: expected one of %s, found '%s'", origin.c_str(),
           joined(allowed, ", ").c_str(), values.back().c_str());
    to = values.back();
  };
}

void Flags::integer(std::int64_t& to, const char* name, const char* value, Range range,
                    const char* help) {
  Flag& flag = add(name, value, help);
  if (to != 0) flag.preset = formatted("%lld", static_cast<long long>(to));
  flag.convert = [&to, range](const std::string& origin, const std::vector<std::string>& values) {
    const std::string& found = values.back();
    std::int64_t parsed = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), parsed);
    if (error != std::errc() || end != found.data() + found.size() ||
        !in_range(static_cast<double>(parsed), range))
      fail(Code::kInvalidArgument, "%s: expected %s, found '%s'", origin.c_str(),
           range_text("a whole number", range, true).c_str(), found.c_str());
    to = parsed;
  };
}

void Flags::number(double& to, const char* name, const char* value, Range range, const char* help) {
  Flag& flag = add(name, value, help);
  flag.preset = shortest(to);
  flag.convert = [&to, range](const std::string& origin, const std::vector<std::string>& values) {
    double parsed = 0;
    if (!parse_number(values.back(), parsed) || !in_range(parsed, range))
      fail(Code::kInvalidArgument, "%s: expected %s, found '%s'", origin.c_str(),
           range_text("a number", range, false).c_str(), values.back().c_str());
    to = parsed;
  };
}

void Flags::seconds(double& to, const char* name, const char* help) {
  add(name, "TIME", help).convert = [&to](const std::string& origin,
                                          const std::vector<std::string>& values) {
    to = parse_seconds(origin, values.back());
  };
}

void Flags::bytes(std::size_t& to, const char* name, const char* help) {
  add(name, "SIZE", help).convert = [&to](const std::string& origin,
                                          const std::vector<std::string>& values) {
    to = parse_bytes(origin, values.back());
  };
}

void Flags::list(std::vector<std::string>& to, const char* name, const char* value,
                 const char* help) {
  Flag& flag = add(name, value, help);
  flag.repeats = true;
  flag.preset = joined(to, ",");
  flag.convert = [&to](const std::string& origin, const std::vector<std::string>& values) {
    to.clear();
    for (const std::string& value_given : values) append_pieces(to, value_given);
    if (to.empty())
      fail(Code::kInvalidArgument, "%s: expected a list, found '%s'", origin.c_str(),
           values.back().c_str());
  };
}

void Flags::rest(std::vector<std::string>& to) {
  rest_ = &to;
}

void Flags::footer(std::string text) {
  footer_ = std::move(text);
}

bool Flags::read(std::span<const char* const> arguments) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  bool wants_help = false;
  app.add_flag("-h,--help", wants_help);
  std::vector<std::vector<std::string>> given(flags_.size());
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    if (flags_[i].value.empty()) {
      app.add_flag(flags_[i].name)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
          ->each([&given, i](const std::string& value) { given[i].push_back(value); });
    } else {
      app.add_option(flags_[i].name, given[i])
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  try {
    // CLI11 takes them from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ArgumentMismatch&) {
    // The only flag that can lack its value is the last word.
    fail(Code::kInvalidArgument, "%s: expected a value, found nothing", arguments.back());
  } catch (const CLI::ParseError& error) {
    fail(Code::kInvalidArgument, "%s", error.what());
  }
  if (wants_help) return false;
  take_rest(app.remaining());
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    Flag& flag = flags_[i];
    flag.origin = flag.name;
    if (given[i].empty()) {
      flag.origin = variable_of(flag.name);
      if (const char* const value = environment(flag.origin)) given[i].emplace_back(value);
    }
    if (given[i].empty()) {
      flag.origin.clear();
      continue;
    }
    if (!flag.repeats && !flag.value.empty() && given[i].size() > 1)
      fail(Code::kInvalidArgument, "%s: expected once, found %zu times", flag.name,
           given[i].size());
    flag.convert(flag.origin, given[i]);
  }
  return true;
}

// What CLI11 did not know: unknown flags up to "--", and the arguments.
void Flags::take_rest(const std::vector<std::string>& arguments) {
  bool flags_end = false;
  for (const std::string& argument : arguments) {
    if (!flags_end && argument == "--") {
      flags_end = true;
    } else if (!flags_end && argument.size() > 1 && argument[0] == '-') {
      const std::string name = argument.substr(0, argument.find('='));
      const std::string known = nearest(name);
      fail(Code::kInvalidArgument, "%s: no such flag%s%s", name.c_str(),
           known.empty() ? "" : "; the nearest is ", known.c_str());
    } else if (rest_ == nullptr) {
      fail(Code::kInvalidArgument, "'%s': expected no arguments but flags", argument.c_str());
    } else {
      rest_->push_back(argument);
    }
  }
}

std::string Flags::nearest(std::string_view unknown) const {
  std::string best;
  std::size_t best_distance = 1 + unknown.size() / 4;
  for (const Flag& flag : flags_) {
    const std::size_t found = distance(unknown, flag.name);
    if (found > best_distance || (found == best_distance && !best.empty())) continue;
    best = flag.name;
    best_distance = found;
  }
  return best;
}

std::string_view Flags::origin(std::string_view name) const {
  for (const Flag& flag : flags_)
    if (flag.name == name) return flag.origin;
  check(false, "only declared flags are asked for");
  return {};
}

double parse_seconds(const std::string& origin, const std::string& text) {
  const auto refuse = [&] {
    fail(Code::kInvalidArgument, "%s: expected seconds, mm:ss or hh:mm:ss up to %lld s, found '%s'",
         origin.c_str(), static_cast<long long>(kMaxSeconds), text.c_str());
  };
  double total = 0;
  std::string_view left = text;
  for (int part = 0;; ++part) {
    const std::size_t colon = left.find(':');
    const bool last = colon == std::string_view::npos;
    const std::string_view digits = left.substr(0, colon);
    double value = 0;
    // Signs and exponents belong to numbers, not to clocks.
    if (part > 2 ||
        digits.find_first_not_of(last ? "0123456789." : "0123456789") != std::string_view::npos ||
        !parse_number(digits, value) || (part > 0 && value >= 60))
      refuse();
    total = total * 60 + value;
    if (last) break;
    left.remove_prefix(colon + 1);
  }
  if (total > kMaxSeconds) refuse();
  return total;
}

std::size_t parse_bytes(const std::string& origin, const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  std::string_view number = text;
  for (const std::string_view end : {"iB", "ib", "B", "b"}) {
    if (number.size() > end.size() && number.ends_with(end)) {
      number.remove_suffix(end.size());
      break;
    }
  }
  double scale = 1;
  if (!number.empty()) {
    const char last = number.back();
    const std::size_t unit = kUnits.find(static_cast<char>(last >= 'a' ? last - 32 : last));
    if (unit != std::string_view::npos) {
      for (std::size_t i = 0; i <= unit; ++i) scale *= 1024;
      number.remove_suffix(1);
    }
  }
  double value = 0;
  if (!parse_number(number, value) || value <= 0 || value * scale < 1 || value * scale > 1e18)
    fail(Code::kInvalidArgument, "%s: expected a size such as 500M or 4G, found '%s'",
         origin.c_str(), text.c_str());
  return static_cast<std::size_t>(value * scale);
}

std::string ffmpeg_program(const std::string& flag) {
  if (flag == "off") return {};
  if (flag == "auto") {
    const char* const path = environment("PATH");
    return find_ffmpeg(path == nullptr ? "" : path);
  }
  std::error_code error;
  if (::access(flag.c_str(), X_OK) != 0 || !std::filesystem::is_regular_file(flag, error))
    fail(Code::kInvalidArgument, "--ffmpeg: expected auto, off or a program, found '%s'",
         flag.c_str());
  // It is started in a folder of its own.
  const std::filesystem::path whole = std::filesystem::absolute(flag, error);
  return error ? flag : whole.string();
}

}  // namespace verbatim
