// exp, log, pow, sin, cos and erf from + - * / and fma alone, so that every machine gives the same
// bits: reduce the argument exactly, sum a Taylor series, and carry the roundings that matter in a
// second double.
#include "base/math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace verbatim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMantissaBits = 52;
constexpr std::int64_t kExponentBias = 1023;

// A value as the unevaluated sum of two doubles.
struct Pair {
  double high = 0;
  double low = 0;
};

Pair two_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// For |a| >= |b|.
Pair fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

Pair two_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

template <std::size_t kSize>
double polynomial(double x, const std::array<double, kSize>& coefficients) {
  double sum = coefficients[kSize - 1];
  for (std::size_t n = kSize - 1; n-- > 0;) sum = sum * x + coefficients[n];
  return sum;
}

constexpr double factorial(int n) {
  double product = 1;  // exact up to 18!
  for (int factor = 2; factor <= n; ++factor) product *= factor;
  return product;
}

// To the nearest whole number for |x| < 2^51: adding 1.5 * 2^52 leaves no bits for a fraction.
double to_whole(double x) {
  constexpr double kShift = 6755399441055744.0;
  return (x + kShift) - kShift;
}

double power_of_two(std::int64_t exponent) {  // -1022 to 1023
  return std::bit_cast<double>((exponent + kExponentBias) << kMantissaBits);
}

// ---- exp ----

// The first has 40 bits: its product with a binary exponent is exact.
constexpr double kLn2High = 0x1.62e42fefa2000p-1;
constexpr double kLn2Low = 0x1.9ef35793c7673p-41;
constexpr double kMaxExp = 709.782712893384;     // above it: infinity
constexpr double kMinExp = -708.39641853226408;  // below it: under the smallest normal number

constexpr auto kExpSeries = [] {  // of (exp(x) - 1 - x) / x^2
  std::array<double, 13> series{};
  for (int n = 0; n < 13; ++n) series[static_cast<std::size_t>(n)] = 1 / factorial(n + 2);
  return series;
}();

// exp(x.high + x.low), |x.low| far below an ulp of the result's exponent. Results under the
// smallest normal number are 0: threads that flush denormals and threads that do not agree.
double exp_of(Pair x) {
  if (x.high > kMaxExp) return kInfinity;
  if (x.high < kMinExp) return 0;
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  const double k = to_whole(x.high * kLog2E);
  const Pair r = fast_two_sum(x.high - k * kLn2High, x.low - k * kLn2Low);
  const double square = r.high * r.high;
  const Pair one = fast_two_sum(1, r.high);
  const double rest = one.low + (r.low + r.low * r.high + square * polynomial(r.high, kExpSeries));
  const double scaled = one.high + rest;
  // One power of two for a result near the largest number would overflow by itself.
  const auto exponent = static_cast<std::int64_t>(k);
  return exponent > 1023 ? scaled * 2 * power_of_two(exponent - 1)
                         : scaled * power_of_two(exponent);
}

// ---- log ----

constexpr auto kLogSeries = [] {  // of (atanh(s) - s - s^3 / 3) / s^5 in s^2
  std::array<double, 12> series{};
  for (int n = 0; n < 12; ++n) series[static_cast<std::size_t>(n)] = 1.0 / (2 * n + 5);
  return series;
}();

// log(x) to some 2^-64 of itself, for positive finite x: x = 2^k m with m within a factor sqrt(2)
// of 1, and log(m) = 2 atanh(s), s = (m - 1) / (m + 1).
Pair log_of(double x) {
  constexpr std::int64_t kMantissa = (std::int64_t{1} << kMantissaBits) - 1;
  constexpr std::int64_t kSqrt2Mantissa = 0x6a09e667f3bcd;
  auto bits = std::bit_cast<std::int64_t>(x);
  std::int64_t exponent = bits >> kMantissaBits;
  if (exponent == 0) {  // a denormal, normalised without arithmetic that might flush it
    const int shift = std::countl_zero(static_cast<std::uint64_t>(bits)) - (63 - kMantissaBits);
    bits <<= shift;
    exponent = 1 - shift;
  }
  const std::int64_t mantissa = bits & kMantissa;
  const bool is_upper = mantissa > kSqrt2Mantissa;
  const std::int64_t field = is_upper ? kExponentBias - 1 : kExponentBias;
  const double m = std::bit_cast<double>(mantissa | (field << kMantissaBits));
  const auto k = static_cast<double>(exponent - kExponentBias + (is_upper ? 1 : 0));

  const double difference = m - 1;  // exact
  const Pair sum = two_sum(m, 1);
  const double s = difference / sum.high;
  const double s_low = (std::fma(-s, sum.high, difference) - s * sum.low) / sum.high;
  const Pair square = two_product(s, s);
  const double square_low = square.low + 2 * s * s_low;
  const Pair cube = two_product(s, square.high);
  const double cube_low = cube.low + s * square_low + s_low * square.high;
  const double third = cube.high / 3;
  const double third_low = (std::fma(-third, 3, cube.high) + cube_low) / 3;
  const double tail = cube.high * square.high * polynomial(square.high, kLogSeries);

  const Pair head = fast_two_sum(s, third);
  const double head_low = head.low + (s_low + third_low + tail);
  const Pair total = two_sum(k * kLn2High, 2 * head.high);
  return fast_two_sum(total.high, total.low + (2 * head_low + k * kLn2Low));
}

// ---- sin and cos ----

constexpr auto kSinSeries = [] {  // of (sin(x) - x) / x^3 in x^2
  std::array<double, 8> series{};
  for (int n = 0; n < 8; ++n) {
    series[static_cast<std::size_t>(n)] = (n % 2 == 0 ? -1 : 1) / factorial(2 * n + 3);
  }
  return series;
}();

constexpr auto kCosSeries = [] {  // of (cos(x) - 1 + x^2 / 2) / x^4 in x^2
  std::array<double, 8> series{};
  for (int n = 0; n < 8; ++n) {
    series[static_cast<std::size_t>(n)] = (n % 2 == 0 ? 1 : -1) / factorial(2 * n + 4);
  }
  return series;
}();

struct Reduced {
  Pair angle;  // within pi / 4 of 0
  int quadrant = 0;
};

// x minus a multiple of pi / 2 in three parts. Every product is exact to its second double, and the
// error left is 2^-118, where no double below 2^40 comes nearer to a multiple than about 2^-60.
Reduced reduce(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi1 = 0x1.921fb54442d18p+0;
  constexpr double kHalfPi2 = 0x1.1a62633145c07p-54;
  constexpr double kHalfPi3 = -0x1.f1976b7ed8fbcp-110;
  const double n = to_whole(x * kTwoOverPi);
  if (n == 0) return {{x, 0}, 0};
  const Pair first = two_product(n, kHalfPi1);
  const Pair second = two_product(n, kHalfPi2);
  const Pair a = two_sum(x, -first.high);
  const Pair b = two_sum(a.high, -first.low);
  const Pair c = two_sum(b.high, -second.high);
  const double rest = ((a.low + b.low + c.low) - second.low) - n * kHalfPi3;
  return {two_sum(c.high, rest), static_cast<int>(static_cast<std::int64_t>(n) & 3)};
}

double sin_near_zero(Pair x) {
  const double square = x.high * x.high;
  const double cubic = square * x.high * polynomial(square, kSinSeries);
  return x.high + (cubic + x.low * (1 - 0.5 * square));
}

double cos_near_zero(Pair x) {
  const Pair square = two_product(x.high, x.high);
  const Pair head = fast_two_sum(1, -0.5 * square.high);
  const double quartic = square.high * square.high * polynomial(square.high, kCosSeries);
  return head.high + (head.low + (quartic - x.high * x.low - 0.5 * square.low));
}

double sin_of_quadrant(const Reduced& x, int turns) {
  const int quadrant = (x.quadrant + turns) & 3;
  const double value = (quadrant & 1) != 0 ? cos_near_zero(x.angle) : sin_near_zero(x.angle);
  return (quadrant & 2) != 0 ? -value : value;
}

constexpr double kMaxAngle = 1099511627776.0;  // 2^40

// ---- erf ----

constexpr double kTwoOverRootPi = 0x1.20dd750429b6dp+0;
constexpr double kTwoOverRootPiLessOne = 0x1.06eba8214db69p-3;

constexpr auto kErfSeries =
    [] {  // of erf(x) / x - 2 / sqrt(pi) in x^2, times sqrt(pi) / 2, over x^2
      std::array<double, 14> series{};
      for (int n = 0; n < 14; ++n) {
        const double sign = n % 2 == 0 ? -1 : 1;
        series[static_cast<std::size_t>(n)] = sign / (factorial(n + 1) * (2 * n + 3));
      }
      return series;
    }();

struct ErfAt {
  Pair value;        // erf at the centre
  double slope = 0;  // its derivative there
};

// At 0.5, 0.75, ... 6.
constexpr std::array<ErfAt, 23> kErfAt{{
    {{0x1.0a7ef5c18edd2p-1, 0x1.5e809f1a31a28p-56}, 0x1.c1efca49a5011p-1},
    {{0x1.6c1c9759d0e5fp-1, 0x1.b1432f2cbc455p-55}, 0x1.492e42d78d2c5p-1},
    {{0x1.af767a741088bp-1, -0x1.c97f778122797p-56}, 0x1.a911f096fbc26p-2},
    {{0x1.d8865d98abe01p-1, -0x1.fcec4afb974d9p-55}, 0x1.e4652fadcb6b2p-3},
    {{0x1.eea5557137ae0p-1, -0x1.385e445f2c96dp-55}, 0x1.e723726b824a9p-4},
    {{0x1.f92d077f8d56dp-1, 0x1.8b55ef493fce7p-56}, 0x1.b055303221015p-5},
    {{0x1.fd9ae142795e3p-1, 0x1.972801904b9a3p-56}, 0x1.529b9e8cf9a1ep-6},
    {{0x1.ff404760319b4p-1, 0x1.f142071432025p-56}, 0x1.d4143a9dfe965p-8},
    {{0x1.ffcaa8f4c9beap-1, 0x1.b0cee160116f9p-55}, 0x1.1d83170fbf6fbp-9},
    {{0x1.fff2cfb0453d9p-1, 0x1.9a913686042a3p-55}, 0x1.3360ccd23db3ap-11},
    {{0x1.fffd1ac4135f9p-1, 0x1.eeafa1ecd6cefp-55}, 0x1.2408e9ba3327fp-13},
    {{0x1.ffff6f9f67e55p-1, 0x1.e1e4483ba034bp-55}, 0x1.e9b5e8d00ce77p-16},
    {{0x1.ffffe710d565ep-1, 0x1.c9ea52d76dc04p-55}, 0x1.6a597219a93dap-18},
    {{0x1.fffffc2f171e3p-1, 0x1.85edd0395f475p-55}, 0x1.d9371e2ff7c35p-21},
    {{0x1.ffffff7b91176p-1, 0x1.0b2865615db40p-56}, 0x1.10b1488aeb235p-23},
    {{0x1.fffffff01a8b6p-1, 0x1.23370eca5ca6ap-60}, 0x1.155a09065d4f7p-26},
    {{0x1.fffffffe4fa30p-1, 0x1.d166bcb681c7bp-57}, 0x1.f1e3523b41d7dp-30},
    {{0x1.ffffffffd759dp-1, 0x1.f7bee7eb23420p-55}, 0x1.8a61745ec7d1dp-33},
    {{0x1.fffffffffc9e8p-1, -0x1.a759f7738935fp-56}, 0x1.13af4f04f9998p-36},
    {{0x1.ffffffffffc05p-1, 0x1.07ba96a6b2e1ap-55}, 0x1.5422ef5d8949dp-40},
    {{0x1.fffffffffffbep-1, -0x1.182b326b228dcp-55}, 0x1.7258610b3b233p-44},
    {{0x1.ffffffffffffcp-1, 0x1.8115fd1b12786p-56}, 0x1.63daf8b4b1e0cp-48},
    {{0x1.0000000000000p+0, -0x1.8cf81557d20b6p-56}, 0x1.2dc119095729fp-52},
}};

constexpr double kErfStep = 0.25;

// The Taylor series of (erf(c + t) - erf(c)) / t about each centre, from y'' = -2 x y'.
constexpr auto kErfLocal = [] {
  std::array<std::array<double, 16>, kErfAt.size()> all{};
  for (std::size_t index = 0; index < all.size(); ++index) {
    const double centre = kErfStep * static_cast<double>(index + 2);
    std::array<double, 16>& series = all[index];
    series[0] = kErfAt[index].slope;
    series[1] = -centre * series[0];
    for (int n = 1; n + 1 < 16; ++n) {
      const auto at = static_cast<std::size_t>(n);
      const double next = -2 * centre * (n + 1) * series[at] - 2.0 * n * series[at - 1];
      series[at + 1] = next / ((n + 2.0) * (n + 1.0));
    }
  }
  return all;
}();

double erf_of_positive(double x) {
  if (x >= 6) return 1;
  // So small that the sum below would lose its second part to flushed denormals.
  if (x < 0x1p-900) return x * kTwoOverRootPi;
  if (x < 0.5) {
    const double square = x * x;
    const double curve = square * polynomial(square, kErfSeries);
    return x + x * (kTwoOverRootPiLessOne + kTwoOverRootPi * curve);
  }
  const auto nearest = static_cast<int>(to_whole(x / kErfStep));
  const auto index = static_cast<std::size_t>(nearest - 2);
  const double t = x - nearest * kErfStep;  // exact
  const Pair& value = kErfAt[index].value;
  return value.high + (value.low + t * polynomial(t, kErfLocal[index]));
}

}  // namespace

double math_exp(double x) {
  return std::isnan(x) ? x : exp_of({x, 0});
}

double math_log(double x) {
  if (std::isnan(x) || std::bit_cast<std::uint64_t>(x) << 1 == 0) return x == 0 ? -kInfinity : x;
  if (std::signbit(x)) return kNan;
  return x == kInfinity ? x : log_of(x).high;
}

double math_pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (std::isnan(x) || std::isnan(y) || x < 0) return kNan;
  if (x == 0 || x == kInfinity) return (x == 0) == (y < 0) ? kInfinity : 0;
  const Pair logarithm = log_of(x);
  const double product = y * logarithm.high;
  if (!(std::abs(product) < 1000)) return product > 0 ? kInfinity : 0;
  const double low = std::fma(y, logarithm.high, -product) + y * logarithm.low;
  return exp_of(fast_two_sum(product, low));
}

double math_sin(double x) {
  return std::abs(x) <= kMaxAngle ? sin_of_quadrant(reduce(x), 0) : kNan;
}

double math_cos(double x) {
  return std::abs(x) <= kMaxAngle ? sin_of_quadrant(reduce(x), 1) : kNan;
}

double math_erf(double x) {
  return std::isnan(x) ? x : std::copysign(erf_of_positive(std::abs(x)), x);
}

}  // namespace verbatim
