// Products of unsigned and signed bytes in plain C++, and the definition of what the dots of an
// instruction set must give: sums of sixteen outputs, four input features at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbatim {

template <typename V>
struct PlainDots {
  static constexpr int kTileRows = 4;
  static constexpr int kTilePanels = 1;
  static constexpr int kStreamSums = 1;
  static constexpr int kFilterRows = 0;
  using Halves = PlainDots;  // what multiplies codes that are halves of bytes

  struct Line {  // four codes of each output
    std::uint8_t v[64];
  };
  struct Input {  // four codes of a row
    std::int8_t v[4];
  };
  struct Ints {
    std::int32_t v[16];
  };
  using Sum = Ints;

  static Line load(const std::byte* p) {
    Line line;
    for (int i = 0; i < 64; ++i) line.v[i] = static_cast<std::uint8_t>(p[i]);
    return line;
  }
  static Line low_halves(const std::byte* p) {
    Line line = load(p);
    for (std::uint8_t& v : line.v) v &= 15;
    return line;
  }
  static Line high_halves(const std::byte* p) {
    Line line = load(p);
    for (std::uint8_t& v : line.v) v = static_cast<std::uint8_t>(v >> 4);
    return line;
  }
  static void store(std::byte* p, Line line) {
    for (int i = 0; i < 64; ++i) p[i] = static_cast<std::byte>(line.v[i]);
  }
  static Input input(const std::int8_t* q) { return {{q[0], q[1], q[2], q[3]}}; }

  static Sum start(std::int32_t from) {
    Sum sum;
    for (std::int32_t& v : sum.v) v = from;
    return sum;
  }
  static Sum start(const std::int32_t* from) {
    Sum sum;
    for (int i = 0; i < 16; ++i) sum.v[i] = from[i];
    return sum;
  }
  static void add(Sum& sum, const Line& line, Input in) {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 4; ++j) sum.v[i] += line.v[i * 4 + j] * in.v[j];
    }
  }
  static Ints total(const Sum& sum) { return sum; }
  static Ints minus(Ints a, const std::int32_t* b, std::int32_t factor) {
    for (int i = 0; i < 16; ++i) a.v[i] -= b[i] * factor;
    return a;
  }
  static void store(std::int32_t* to, const Ints& a) {
    for (int i = 0; i < 16; ++i) to[i] = a.v[i];
  }
  static V floats(const Ints& a) {
    float values[16];
    for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(a.v[i]);
    return V::load(values);
  }

  static void store_codes(std::int8_t* to, V codes) {
    float values[16];
    V::store(values, codes);
    for (int i = 0; i < 16; ++i) to[i] = static_cast<std::int8_t>(values[i]);
  }
};

}  // namespace verbatim
