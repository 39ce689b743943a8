// Loops over register tiles, laid out flat.
#pragma once

#include <type_traits>
#include <utility>

namespace verbatim {

// body(integral_constant<int, 0>), ...: g++ 12 keeps an array in registers only where nothing
// indexes it by a loop variable. (Prefetches must stay out of the body: a lambda that does nothing
// else has no effect in its eyes and goes.)
template <int... kIndex, typename Body>
[[gnu::always_inline]] inline void unroll(std::integer_sequence<int, kIndex...>, const Body& body) {
  (body(std::integral_constant<int, kIndex>{}), ...);
}
template <int kCount, typename Body>
[[gnu::always_inline]] inline void unroll(const Body& body) {
  unroll(std::make_integer_sequence<int, kCount>{}, body);
}

}  // namespace verbatim
