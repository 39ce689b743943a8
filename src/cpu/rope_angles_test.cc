// Angles against a wider arithmetic, at positions no session reaches and at all it does; and that
// tables which take turns keep what they have.
#include "cpu/rope_angles.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <string>

namespace verbatim {
namespace {

// A position below 2^40 times a float32 is exact in it.
static_assert(LDBL_MANT_DIG >= 64);

constexpr std::int32_t kHeadDims[] = {2, 6, 20, 32, 64, 128};

std::vector<float> frequencies(std::int32_t head_dim, double theta) {
  std::vector<float> made;
  for (std::int32_t i = 0; i < head_dim / 2; ++i) {
    made.push_back(static_cast<float>(1.0 / std::pow(theta, 2.0 * i / head_dim)));
  }
  return made;
}

// The nearest float32, or the next one where the value lies in the middle of two.
void expect_float_of(float found, long double exact, const std::string& what) {
  const float nearest = static_cast<float>(exact);
  const long double step =
      static_cast<long double>(std::nextafter(std::fabs(nearest), 2.0F) - std::fabs(nearest));
  EXPECT_LE(std::fabs(static_cast<long double>(found) - exact), 0.5001L * step) << what;
}

void expect_angles(std::int64_t position, const std::vector<float>& table, bool is_exact) {
  std::vector<float> cos(table.size());
  std::vector<float> sin(table.size());
  rope_angles(position, table, cos.data(), sin.data());
  for (std::size_t f = 0; f < table.size(); ++f) {
    const auto angle = is_exact
                           ? static_cast<long double>(position) * static_cast<long double>(table[f])
                           : static_cast<long double>(static_cast<float>(position) * table[f]);
    const std::string what = "position " + std::to_string(position) + ", frequency " +
                             std::to_string(f) + " of " + std::to_string(table.size());
    expect_float_of(cos[f], std::cos(angle), "cos at " + what);
    expect_float_of(sin[f], std::sin(angle), "sin at " + what);
  }
}

TEST(RopeAngles, BelowPosition131072AnAngleIsTheFloat32Product) {
  for (const double theta : {1e4, 1e6}) {
    for (const std::int32_t head_dim : kHeadDims) {
      const std::vector<float> table = frequencies(head_dim, theta);
      for (std::int64_t position = 0; position < 131072; position = 2 * position + 1) {
        expect_angles(position, table, false);
      }
      for (const std::int64_t position : {1500, 46411, 99999, 131071}) {
        expect_angles(position, table, false);
      }
    }
  }
}

TEST(RopeAngles, FromThereOnItIsExactForEver) {
  std::vector<std::int64_t> positions{131072, 131073, 1000003};
  for (int bits = 24; bits <= 40; ++bits) {
    const std::int64_t power = std::int64_t{1} << bits;
    // 0x9e3779b97f spreads ones and zeros over all of the bits.
    for (const std::int64_t position :
         {power - 1, power, power + 1, power / 2 + (0x9e3779b97f & (power / 2 - 1))}) {
      if (position <= std::int64_t{1} << 40) positions.push_back(position);
    }
  }
  for (const double theta : {1e4, 1e6}) {
    for (const std::int32_t head_dim : kHeadDims) {
      const std::vector<float> table = frequencies(head_dim, theta);
      for (const std::int64_t position : positions) expect_angles(position, table, true);
    }
  }
}

std::vector<float> angles_of(const std::vector<float>& table, std::int64_t position) {
  std::vector<float> both(2 * table.size());
  rope_angles(position, table, both.data(), both.data() + table.size());
  return both;
}

TEST(RopeCache, ARowGivesTheAnglesOfItsPositionWhateverItHeldBefore) {
  RopeCache cache;
  std::vector<std::vector<float>> tables;  // more than are kept
  for (int i = 0; i < 7; ++i) tables.push_back(frequencies(kHeadDims[i % 6], 100.0 * (i + 1)));
  for (std::int64_t lap = 0; lap < 6; ++lap) {
    // Tables stay, come back after others, and take a place where these positions were held.
    for (const std::size_t each : {0, 1, 0, 1, 2, 3, 4, 0, 5, 6, 1, 1, 0, 6}) {
      const std::vector<float>& table = tables[each];
      const std::int64_t rows = 1 + (5 * lap + static_cast<std::int64_t>(each)) % 9;
      RopeAngles& angles = cache.of(table, rows);
      for (std::int64_t row = rows - 1; row >= 0; --row) {
        const std::int64_t position = 50 * (lap / 2) + row;
        const float* found = angles.at(row, position);
        ASSERT_EQ(std::vector<float>(found, found + 2 * table.size()), angles_of(table, position))
            << "lap " << lap << " table " << each << " row " << row;
      }
    }
  }
}

TEST(RopeCache, TablesThatTakeTurnsKeepTheirOwn) {
  RopeCache cache;
  const std::vector<float> encoder = frequencies(64, 1e6);
  const std::vector<float> decoder = frequencies(128, 1e6);
  RopeAngles& first = cache.of(encoder, 8);
  const float* at_first = first.at(7, 1234567);
  RopeAngles& second = cache.of(decoder, 3);
  const float* at_second = second.at(2, 88);
  EXPECT_NE(&first, &second);
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_EQ(&cache.of(encoder, 8), &first);
    EXPECT_EQ(first.at(7, 1234567), at_first);
    EXPECT_EQ(&cache.of(decoder, 1), &second);
    EXPECT_EQ(second.at(2, 88), at_second);
  }
  EXPECT_EQ(std::vector<float>(at_first, at_first + 64), angles_of(encoder, 1234567));
  EXPECT_EQ(std::vector<float>(at_second, at_second + 128), angles_of(decoder, 88));
}

}  // namespace
}  // namespace verbatim
