// The one exception type, and the check that guards promises between our own functions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace verbatim {

enum class Code : std::uint8_t {
  kInvalidArgument,
  kNotFound,
  kUnsupported,
  kCorrupt,
  kIo,
  kExhausted,
  kCancelled,
  kDevice,
  kInternal
};

// what() is one sentence that names the thing: a path, a tensor, a flag.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& what) : std::runtime_error(what), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

// Throws Error with the formatted sentence.
[[noreturn]] [[gnu::format(printf, 2, 3)]] void fail(Code code, const char* format, ...);

// The formatted string; for messages that are kept rather than thrown.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

// What the system says about an errno.
std::string system_message(int error);

// Adds `item` behind a comma to a list that a message shows: "f32, f16".
void append_listed(std::string& list, std::string_view item);

[[noreturn]] void check_failed(const char* claim, const char* file, int line);

// Aborts with file and line: a broken promise between our own functions, never a user's mistake.
inline void check(bool holds, const char* claim, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) [[unlikely]]
    check_failed(claim, file, line);
}

}  // namespace verbatim
