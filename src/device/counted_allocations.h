// For tests: how often this program has asked operator new for memory. What counts is linked in by
// listing counted_allocations.cc among a test's sources.
#pragma once

#include <cstdint>

namespace verbatim {

std::int64_t counted_allocations();

}  // namespace verbatim
