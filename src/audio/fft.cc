// Stockham's self-sorting passes over a complex sequence, which for an even size carries the even
// samples as real and the odd ones as imaginary parts.
#include "audio/fft.h"

#include <array>
#include <cstddef>
#include <numbers>
#include <utility>

#include "base/error.h"
#include "base/math.h"

namespace verbatim {
namespace {

struct Complex {
  double re = 0;
  double im = 0;
};

// exp(-2 pi i k / n). Whole quarters of a turn are taken off first, so that they come out exact.
Complex unit_root(std::int64_t k, std::int64_t n) {
  const std::int64_t quarters = 4 * (k % n) / n;
  const std::int64_t rest = 4 * (k % n) - quarters * n;
  const double angle = std::numbers::pi / 2 * static_cast<double>(rest) / static_cast<double>(n);
  const double cosine = math_cos(angle);
  const double sine = math_sin(angle);
  if (quarters == 0) return {cosine, -sine};
  if (quarters == 1) return {-sine, -cosine};
  if (quarters == 2) return {-cosine, sine};
  return {sine, cosine};
}

Complex plus(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
Complex minus(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
Complex times(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Complex minus_i_times(Complex a, Complex b) {  // a - i b
  return {a.re + b.im, a.im - b.re};
}
Complex plus_i_times(Complex a, Complex b) {
  return {a.re - b.im, a.im + b.re};
}

// The transforms of a few points, in place.
void transform_points(std::array<Complex, 2>& x) {
  const Complex first = x[0];
  x[0] = plus(first, x[1]);
  x[1] = minus(first, x[1]);
}

void transform_points(std::array<Complex, 3>& x) {
  constexpr double kSine = 0.5 * std::numbers::sqrt3;  // of a third of a turn
  const Complex sum = plus(x[1], x[2]);
  const Complex difference = minus(x[1], x[2]);
  const Complex even = {x[0].re - 0.5 * sum.re, x[0].im - 0.5 * sum.im};
  const Complex odd = {kSine * difference.re, kSine * difference.im};
  x = {plus(x[0], sum), minus_i_times(even, odd), plus_i_times(even, odd)};
}

void transform_points(std::array<Complex, 4>& x) {
  const Complex even_sum = plus(x[0], x[2]);
  const Complex even_difference = minus(x[0], x[2]);
  const Complex odd_sum = plus(x[1], x[3]);
  const Complex odd_difference = minus(x[1], x[3]);
  x = {plus(even_sum, odd_sum), minus_i_times(even_difference, odd_difference),
       minus(even_sum, odd_sum), plus_i_times(even_difference, odd_difference)};
}

void transform_points(std::array<Complex, 5>& x) {
  constexpr double kCosine1 = 0.30901699437494742;  // of one fifth of a turn
  constexpr double kCosine2 = -0.80901699437494742;
  constexpr double kSine1 = 0.95105651629515357;
  constexpr double kSine2 = 0.58778525229247313;
  const Complex sum1 = plus(x[1], x[4]);
  const Complex sum2 = plus(x[2], x[3]);
  const Complex difference1 = minus(x[1], x[4]);
  const Complex difference2 = minus(x[2], x[3]);
  const Complex even1 = {x[0].re + kCosine1 * sum1.re + kCosine2 * sum2.re,
                         x[0].im + kCosine1 * sum1.im + kCosine2 * sum2.im};
  const Complex even2 = {x[0].re + kCosine2 * sum1.re + kCosine1 * sum2.re,
                         x[0].im + kCosine2 * sum1.im + kCosine1 * sum2.im};
  const Complex odd1 = {kSine1 * difference1.re + kSine2 * difference2.re,
                        kSine1 * difference1.im + kSine2 * difference2.im};
  const Complex odd2 = {kSine2 * difference1.re - kSine1 * difference2.re,
                        kSine2 * difference1.im - kSine1 * difference2.im};
  x = {plus(x[0], plus(sum1, sum2)), minus_i_times(even1, odd1), minus_i_times(even2, odd2),
       plus_i_times(even2, odd2), plus_i_times(even1, odd1)};
}

// Real and imaginary parts of a sequence or a table.
template <typename Number>
struct Parts {
  Number* re;
  Number* im;

  Complex operator[](std::int64_t at) const { return {re[at], im[at]}; }
};

// to[q + stride (radix p + k)] = twiddle(p, k) sum over j of from[q + stride (p + blocks j)]
// exp(-2 pi i j k / radix): block p, column q. The columns run side by side in the machine's lanes.
template <std::size_t kRadix>
void transform_pass(std::int64_t blocks, std::int64_t stride, Parts<const double> from,
                    Parts<const double> twiddles, Parts<double> to) {
  const std::int64_t step = blocks * stride;
  double* __restrict to_re = to.re;
  double* __restrict to_im = to.im;
  for (std::int64_t p = 0; p < blocks; ++p) {
    std::array<Complex, kRadix> twiddle{};
    twiddle[0] = {1, 0};
    for (std::size_t k = 1; k < kRadix; ++k)
      twiddle[k] =
          twiddles[p * static_cast<std::int64_t>(kRadix - 1) + static_cast<std::int64_t>(k) - 1];
    for (std::int64_t q = 0; q < stride; ++q) {
      std::array<Complex, kRadix> x;
      for (std::size_t j = 0; j < kRadix; ++j)
        x[j] = from[q + stride * p + step * static_cast<std::int64_t>(j)];
      transform_points(x);
      for (std::size_t k = 0; k < kRadix; ++k) {
        const Complex y = k == 0 ? x[0] : times(x[k], twiddle[k]);
        const std::int64_t at =
            q + stride * (static_cast<std::int64_t>(kRadix) * p + static_cast<std::int64_t>(k));
        to_re[at] = y.re;
        to_im[at] = y.im;
      }
    }
  }
}

// The same for any radix, by the definition.
void transform_pass_by_sum(std::int64_t radix, std::int64_t blocks, std::int64_t stride,
                           Parts<const double> from, Parts<const double> twiddles,
                           Parts<const double> roots, Parts<double> to) {
  const std::int64_t step = blocks * stride;
  for (std::int64_t p = 0; p < blocks; ++p)
    for (std::int64_t k = 0; k < radix; ++k) {
      const Complex twiddle = k == 0 ? Complex{1, 0} : twiddles[p * (radix - 1) + k - 1];
      for (std::int64_t q = 0; q < stride; ++q) {
        Complex sum;
        std::int64_t turn = 0;  // j k mod radix
        for (std::int64_t j = 0; j < radix; ++j) {
          sum = plus(sum, times(from[q + stride * p + step * j], roots[turn]));
          turn += k;
          if (turn >= radix) turn -= radix;
        }
        const Complex y = times(sum, twiddle);
        const std::int64_t at = q + stride * (radix * p + k);
        to.re[at] = y.re;
        to.im[at] = y.im;
      }
    }
}

// Fours and twos come first: the columns behind them are even in number and fill the lanes.
std::int64_t next_radix(std::int64_t rest) {
  for (const std::int64_t radix : {4, 2, 3, 5})
    if (rest % radix == 0) return radix;
  std::int64_t prime = 7;
  while (prime * prime <= rest && rest % prime != 0) prime += 2;
  return rest % prime == 0 ? prime : rest;
}

}  // namespace

RealFft::RealFft(std::int32_t size) : size_(size) {
  check(size >= 1, "a transform has at least one point");
  const bool is_even = size % 2 == 0;
  points_ = is_even ? size / 2 : size;
  const auto count = static_cast<std::size_t>(points_);
  from_re_.resize(count);
  from_im_.resize(count);
  to_re_.resize(count);
  to_im_.resize(count);
  for (std::int64_t k = 0; is_even && k <= points_ / 2; ++k) {
    const Complex root = unit_root(k, size);
    split_re_.push_back(root.re);
    split_im_.push_back(root.im);
  }
  plan();
}

void RealFft::plan() {
  std::int64_t rest = points_;
  while (rest > 1) {
    Pass pass;
    pass.radix = next_radix(rest);
    pass.blocks = rest / pass.radix;
    pass.stride = points_ / rest;
    pass.twiddles = twiddle_re_.size();
    for (std::int64_t p = 0; p < pass.blocks; ++p)
      for (std::int64_t k = 1; k < pass.radix; ++k) {
        const Complex root = unit_root(p * k, rest);
        twiddle_re_.push_back(root.re);
        twiddle_im_.push_back(root.im);
      }
    for (std::int64_t k = 0; pass.radix > 5 && k < pass.radix; ++k) {
      const Complex root = unit_root(k, pass.radix);
      pass.root_re.push_back(root.re);
      pass.root_im.push_back(root.im);
    }
    rest = pass.blocks;
    passes_.push_back(std::move(pass));
  }
}

void RealFft::transform_complex() {
  for (const Pass& pass : passes_) {
    const Parts<const double> from{from_re_.data(), from_im_.data()};
    const Parts<double> to{to_re_.data(), to_im_.data()};
    const Parts<const double> twiddles{twiddle_re_.data() + pass.twiddles,
                                       twiddle_im_.data() + pass.twiddles};
    if (pass.radix == 2) {
      transform_pass<2>(pass.blocks, pass.stride, from, twiddles, to);
    } else if (pass.radix == 3) {
      transform_pass<3>(pass.blocks, pass.stride, from, twiddles, to);
    } else if (pass.radix == 4) {
      transform_pass<4>(pass.blocks, pass.stride, from, twiddles, to);
    } else if (pass.radix == 5) {
      transform_pass<5>(pass.blocks, pass.stride, from, twiddles, to);
    } else {
      const Parts<const double> roots{pass.root_re.data(), pass.root_im.data()};
      transform_pass_by_sum(pass.radix, pass.blocks, pass.stride, from, twiddles, roots, to);
    }
    from_re_.swap(to_re_);
    from_im_.swap(to_im_);
  }
}

// With E and O the transforms of the even and of the odd samples, Z = E + i O is what there is;
// X[k] = E[k] + w^k O[k] and X[points - k] = conj(E[k] - w^k O[k]).
void RealFft::split(std::span<double> re, std::span<double> im) const {
  for (std::int64_t k = 0; k <= points_ / 2; ++k) {
    const auto low = static_cast<std::size_t>(k);
    const auto high = static_cast<std::size_t>(points_ - k);
    const std::size_t mirrored = k == 0 ? 0 : high;
    const Complex a{from_re_[low], from_im_[low]};
    const Complex b{from_re_[mirrored], -from_im_[mirrored]};
    const Complex even{0.5 * (a.re + b.re), 0.5 * (a.im + b.im)};
    const Complex odd{0.5 * (a.im - b.im), 0.5 * (b.re - a.re)};
    const Complex turned = times(odd, {split_re_[low], split_im_[low]});
    re[low] = even.re + turned.re;
    im[low] = even.im + turned.im;
    re[high] = even.re - turned.re;
    im[high] = turned.im - even.im;
  }
}

void RealFft::transform(std::span<const double> samples, std::span<double> re,
                        std::span<double> im) {
  const auto size = static_cast<std::size_t>(size_);
  const std::size_t bins = size / 2 + 1;
  check(samples.size() == size, "as many samples as the transform has points");
  check(re.size() == bins && im.size() == bins, "room for size / 2 + 1 bins");
  if (size % 2 == 0) {
    for (std::size_t at = 0; at < size / 2; ++at) {
      from_re_[at] = samples[2 * at];
      from_im_[at] = samples[2 * at + 1];
    }
    transform_complex();
    split(re, im);
    return;
  }
  for (std::size_t at = 0; at < size; ++at) {
    from_re_[at] = samples[at];
    from_im_[at] = 0;
  }
  transform_complex();
  for (std::size_t k = 0; k < bins; ++k) {
    re[k] = from_re_[k];
    im[k] = from_im_[k];
  }
}

}  // namespace verbatim
