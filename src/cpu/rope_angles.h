// Cosines and sines of rotary angles: what they are at a position, and those of a batch's rows,
// kept from one layer to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

// cos and sin of position * frequency for every frequency, as float32. Below position 131072 the
// angle is the float32 product, as the reference's; from there on it is the exact one, and nothing
// is lost up to an angle of 2^40.
void rope_angles(std::int64_t position, std::span<const float> frequencies, float* cos, float* sin);

// Those of the rows of one batch, for one row of frequencies.
class RopeAngles {
 public:
  // The row's cosines, then its sines. Computed anew only when the row stands at another position
  // than it last did; rows may be asked for by several threads, each row by one at a time.
  const float* at(std::int64_t row, std::int64_t position);

 private:
  friend class RopeCache;
  std::vector<float> frequencies_;
  std::vector<std::int64_t> positions_;
  std::vector<float> values_;
};

// The angles of the last few tables. An encoder and a decoder take turns on one device, and neither
// loses its own; whether a table's pairs are interleaved makes no difference here.
class RopeCache {
 public:
  // With room for so many rows; good until the next call.
  RopeAngles& of(std::span<const float> frequencies, std::int64_t rows);

 private:
  static constexpr std::size_t kTables = 4;
  std::array<RopeAngles, kTables> tables_;
  std::size_t next_ = 0;  // the one to give way
};

}  // namespace verbatim
