// The log sink: one of the two pieces of process-wide state (the other is the interrupt flag).
#include "base/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace verbatim {
namespace {

void to_stderr(Level level, std::string_view line) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  std::fprintf(stderr, "verbatim: %s: %.*s\n", kNames[static_cast<int>(level)],
               static_cast<int>(line.size()), line.data());
}

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the sink.
std::atomic<Level> threshold_{Level::kWarn};
std::atomic<LogSink> sink_{to_stderr};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

void log(Level level, const char* format, ...) {
  if (level < threshold_.load(std::memory_order_relaxed)) return;
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started in the line above.
  const int size = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size < 0) return;
  const std::size_t length = static_cast<std::size_t>(size) < sizeof text
                                 ? static_cast<std::size_t>(size)
                                 : sizeof text - 1;
  sink_.load()(level, std::string_view(text, length));
}

void set_log(Level threshold, LogSink sink) {
  threshold_ = threshold;
  sink_ = sink != nullptr ? sink : to_stderr;
}

}  // namespace verbatim
