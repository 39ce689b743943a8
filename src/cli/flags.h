// The flags of one command: how they are spelled, read from the command line or the environment,
// checked and explained. The only reader of the environment is flags.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

// Numbers within [low, high]; `above_low` leaves the lower bound itself out.
struct Range {
  double low = 0;
  double high = 0;
  bool above_low = false;
};

// Each flag is --name VALUE or --name=VALUE, or the variable VERBATIM_NAME where the command line
// does not have it. A declaration keeps a reference to the variable that the value goes to; its
// value at that time is the default.
class Flags {
 public:
  // Both are printed by help(): "verbatim transcribe [FLAGS] AUDIO..." and one sentence.
  Flags(std::string usage, std::string summary);

  void section(std::string title);  // a heading in help() for the flags that follow
  void toggle(bool& to, const char* name, const char* help);
  void text(std::string& to, const char* name, const char* value, const char* help);
  void choice(std::string& to, const char* name, std::vector<std::string> allowed,
              const char* help);
  void integer(std::int64_t& to, const char* name, const char* value, Range range,
               const char* help);
  void number(double& to, const char* name, const char* value, Range range, const char* help);
  void seconds(double& to, const char* name, const char* help);     // 90.5, 1:30, 01:02:03
  void bytes(std::size_t& to, const char* name, const char* help);  // 500M, 4G
  // Pieces between commas (and line ends), trimmed, without empty and repeated ones; the flag may
  // come several times.
  void list(std::vector<std::string>& to, const char* name, const char* value, const char* help);
  // What is no flag: the arguments themselves. Without this call there must be none.
  void rest(std::vector<std::string>& to);
  void footer(std::string text);  // examples and the like, printed by help() as they are

  // Reads the arguments behind the command's name. False when --help was among them. Throws
  // kInvalidArgument naming the flag (or its variable), what was found and what is allowed.
  bool read(std::span<const char* const> arguments);
  // The name of the flag or of its variable when it had a value, else empty.
  std::string_view origin(std::string_view name) const;
  std::string help() const;

 private:
  struct Flag {
    const char* name = "";  // with its dashes
    std::string value;      // what stands for the value in help(); empty: a toggle
    std::string text;
    std::string preset;  // the default as help() shows it; empty: none worth showing
    bool repeats = false;
    // origin, as errors name it, and the values in the order given.
    std::function<void(const std::string& origin, const std::vector<std::string>&)> convert;
    std::string origin;  // after read(), where it had a value
  };

  Flag& add(const char* name, std::string value, const char* help);
  void take_rest(const std::vector<std::string>& arguments);
  std::string nearest(std::string_view unknown) const;

  std::string usage_;
  std::string summary_;
  std::string footer_;
  std::vector<Flag> flags_;
  std::vector<std::pair<std::size_t, std::string>> sections_;  // first flag, title
  std::vector<std::string>* rest_ = nullptr;
};

// Seconds as a flag spells them: "90.5", "1:30", "01:02:03.5". `origin` names the flag in errors.
double parse_seconds(const std::string& origin, const std::string& text);
// Bytes as a flag spells them: a number and K, M, G or T (of 1024), "B" and "iB" behind it allowed.
std::size_t parse_bytes(const std::string& origin, const std::string& text);

// The ffmpeg program that --ffmpeg means: a path as it stands, "auto" the first of PATH (empty when
// there is none), "off" none. Throws kInvalidArgument for a path that cannot be run.
std::string ffmpeg_program(const std::string& flag);

}  // namespace verbatim
