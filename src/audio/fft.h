// The discrete Fourier transform of real samples in double, of any size:
// X[k] = sum over j of x[j] exp(-2 pi i j k / size).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

// Mixed radix: fast where the size's prime factors are small, a plain sum of p terms for a prime
// factor p above 5. Every sum has one order, so that no bit depends on the machine.
class RealFft {
 public:
  explicit RealFft(std::int32_t size);  // from 1

  std::int32_t size() const { return size_; }
  // X[k] for k = 0 .. size / 2, its real part to `re` and its imaginary part to `im`. Does not
  // allocate; one thread at a time.
  void transform(std::span<const double> samples, std::span<double> re, std::span<double> im);

 private:
  // One radix of the complex transform. Its input is radix x blocks x stride numbers.
  struct Pass {
    std::int64_t radix = 1;
    std::int64_t blocks = 1;
    std::int64_t stride = 1;      // the product of the radices before it
    std::size_t twiddles = 0;     // where its (radix - 1) x blocks begin in twiddle_*
    std::vector<double> root_re;  // exp(-2 pi i k / radix), for a radix without code of its own
    std::vector<double> root_im;
  };

  void plan();
  void transform_complex();  // from_* to from_*
  void split(std::span<double> re, std::span<double> im) const;

  std::int32_t size_ = 1;
  std::int64_t points_ = 1;  // of the complex transform: half of an even size
  std::vector<Pass> passes_;
  std::vector<double> twiddle_re_, twiddle_im_;
  std::vector<double> split_re_, split_im_;  // exp(-2 pi i k / size), even sizes
  std::vector<double> from_re_, from_im_, to_re_, to_im_;
};

}  // namespace verbatim
