// Formatting of messages and the end of a broken promise.
#include "base/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace verbatim {
namespace {

[[gnu::format(printf, 1, 0)]] std::string vformatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): both callers have started the list.
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(static_cast<std::size_t>(size > 0 ? size : 0), '\0');
  if (size > 0) std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

}  // namespace

void fail(Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = vformatted(format, arguments);
  va_end(arguments);
  throw Error(code, text);
}

std::string formatted(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = vformatted(format, arguments);
  va_end(arguments);
  return text;
}

std::string system_message(int error) {
  return std::generic_category().message(error);
}

void append_listed(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}

void check_failed(const char* claim, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, claim);
  std::abort();
}

}  // namespace verbatim
