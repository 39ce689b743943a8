// Log lines go to one sink; the library itself never writes to stdout.
#pragma once

#include <cstdint>
#include <string_view>

namespace verbatim {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError };
using LogSink = void (*)(Level, std::string_view line);

// Any thread. Lines below the threshold cost one comparison.
[[gnu::format(printf, 2, 3)]] void log(Level level, const char* format, ...);

// sink: null for stderr. The default threshold is kWarn.
void set_log(Level threshold, LogSink sink);

}  // namespace verbatim
