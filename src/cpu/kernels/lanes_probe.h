// Every operation of a lane type, applied to given numbers: what isa_test compares between the
// instruction sets. Each one's object is compiled with its flags.
#pragma once

#include <cstdint>

namespace verbatim {

struct ProbeNumbers {  // sixteen of each
  const float* a;
  const float* b;
  const float* c;
  const float* whole;  // whole numbers from -126 to 127
  const std::uint16_t* halves;
  const std::uint32_t* pairs;
};

constexpr const char* kProbeNames[]{
    "load",
    "set",
    "zero",
    "fma",
    "add",
    "sub",
    "mul",
    "div",
    "sqrt",
    "max",
    "min",
    "neg",
    "abs",
    "round",
    "pow2",
    "select",
    "load_f16",
    "low_bf16",
    "high_bf16",
    "sum",
    "max_of",
    "signed_nibble_0",
    "signed_nibble_3",
    "signed_nibble_7",
    "book_nibble_0",
    "book_nibble_4",
    "book_nibble_7",
    "load_s8",
};
constexpr int kProbes = static_cast<int>(sizeof(kProbeNames) / sizeof(kProbeNames[0]));

struct LanesProbe {
  const char* isa;
  void (*run)(const ProbeNumbers& numbers, float* out);  // [kProbes][16]
  // The first n of floats, and out[16..31] where the first n are stored: [2][16].
  void (*tails)(const float* floats, int n, float* out);
};

template <typename V>
void probe_lanes(const ProbeNumbers& numbers, float* out) {
  const V a = V::load(numbers.a);
  const V b = V::load(numbers.b);
  const V c = V::load(numbers.c);
  const typename V::Book book = V::book(numbers.c);
  const typename V::Book signed_book = V::signed_book();
  const V results[kProbes]{
      a,
      V::set(numbers.a[1]),
      V::zero(),
      V::fma(a, b, c),
      V::add(a, b),
      V::sub(a, b),
      V::mul(a, b),
      V::div(a, b),
      V::sqrt(a),
      V::max(a, b),
      V::min(a, b),
      V::neg(a),
      V::abs(a),
      V::round(a),
      V::pow2(V::load(numbers.whole)),
      V::select_less(a, b, c, V::neg(c)),
      V::load_f16(numbers.halves),
      V::low_bf16(numbers.pairs),
      V::high_bf16(numbers.pairs),
      V::set(V::sum(a)),
      V::set(V::max_of(a)),
      V::template signed_nibble<0>(numbers.pairs, signed_book),
      V::template signed_nibble<3>(numbers.pairs, signed_book),
      V::template signed_nibble<7>(numbers.pairs, signed_book),
      V::template book_nibble<0>(numbers.pairs, book),
      V::template book_nibble<4>(numbers.pairs, book),
      V::template book_nibble<7>(numbers.pairs, book),
      V::load_s8(static_cast<const std::int8_t*>(static_cast<const void*>(numbers.pairs))),
  };
  for (int i = 0; i < kProbes; ++i) V::store(out + i * V::kLanes, results[i]);
}

template <typename V>
void probe_tails(const float* floats, int n, float* out) {
  V::store(out, V::load(floats, n));
  V::store(out + V::kLanes, V::load(floats, n), n);
}

}  // namespace verbatim
