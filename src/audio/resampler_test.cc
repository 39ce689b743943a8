// The resampler measured: length, delay, ripple, aliasing, against libsoxr where it is installed.
#include "audio/resampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <numbers>
#include <utility>

#ifdef VERBATIM_HAVE_SOXR
#include <soxr.h>
#endif

namespace verbatim {
namespace {

std::vector<float> resample(const std::vector<float>& samples, std::int32_t in_hz,
                            std::int32_t out_hz, std::size_t push_size = 1U << 30,
                            std::size_t pull_size = 4096) {
  Resampler resampler(in_hz, out_hz);
  std::vector<float> out;
  std::vector<float> block(pull_size);
  const auto pull_all = [&] {
    while (const std::size_t count = resampler.pull(block))
      out.insert(out.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  };
  for (std::size_t at = 0; at < samples.size(); at += push_size) {
    resampler.push(std::span(samples).subspan(at, std::min(push_size, samples.size() - at)));
    pull_all();
  }
  resampler.finish();
  pull_all();
  return out;
}

// exp(i 2 pi hz t / rate) for t = 0, 1, ... by turning; errs by 1e-12 over what is used here.
class Rotation {
 public:
  Rotation(double hz, double rate, double first = 0)
      : at_(std::polar(1.0, 2 * std::numbers::pi * hz * first / rate)),
        step_(std::polar(1.0, 2 * std::numbers::pi * hz / rate)) {}
  std::complex<double> next() { return std::exchange(at_, at_ * step_); }

 private:
  std::complex<double> at_;
  std::complex<double> step_;
};

std::vector<float> tone(double hz, std::int32_t rate, std::size_t samples) {
  std::vector<float> values(samples);
  Rotation rotation(hz, rate);
  for (float& value : values) value = static_cast<float>(0.5 * rotation.next().real());
  return values;
}

std::vector<float> noise(std::size_t samples) {
  std::vector<float> values(samples);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-32F;
  }
  return values;
}

double decibels(double ratio) {
  return 20 * std::log10(std::max(ratio, 1e-12));
}

// Complex amplitude of exp(i 2 pi hz t) in the middle half, where no edge of the clip reaches,
// under a window of Blackman and Harris.
std::complex<double> amplitude(const std::vector<float>& samples, double hz, std::int32_t rate) {
  const std::size_t first = samples.size() / 4;
  const std::size_t count = samples.size() / 2;
  std::complex<double> sum = 0;
  double weight = 0;
  Rotation carrier(hz, rate, static_cast<double>(first));
  Rotation window(1, static_cast<double>(count), 0.5);
  for (std::size_t i = 0; i < count; ++i) {
    const double c = window.next().real();
    const double w =
        0.35875 - 0.48829 * c + 0.14128 * (2 * c * c - 1) - 0.01168 * (4 * c * c * c - 3 * c);
    sum += w * static_cast<double>(samples[first + i]) * std::conj(carrier.next());
    weight += w;
  }
  return 2.0 * sum / weight;
}

double rms_in_the_middle(const std::vector<float>& samples) {
  double sum = 0;
  const std::size_t count = samples.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(samples[samples.size() / 4 + i]);
    sum += value * value;
  }
  return std::sqrt(sum / static_cast<double>(count));
}

struct Rates {
  std::int32_t in_hz;
  std::int32_t out_hz;
};
// Common ones, the extremes, and pairs whose phases are interpolated.
constexpr Rates kRates[] = {{48000, 24000},  {44100, 24000}, {44100, 16000}, {16000, 24000},
                            {8000, 24000},   {8000, 16000},  {11025, 16000}, {96000, 24000},
                            {768000, 16000}, {4000, 24000},  {44101, 24000}, {11127, 24000},
                            {191999, 16000}, {23999, 24000}, {24001, 24000}};

std::size_t samples_for(const Rates& rates) {
  return static_cast<std::size_t>(rates.in_hz) * 2048 /
         static_cast<std::size_t>(std::min(rates.in_hz, rates.out_hz));
}

TEST(Resampler, LengthIsTheCeilingOfTheRatio) {
  for (const Rates& rates : kRates)
    for (const std::size_t samples : {0, 1, 2, 3, 147, 1000}) {
      const std::int64_t product = static_cast<std::int64_t>(samples) * rates.out_hz;
      EXPECT_EQ(resample(std::vector<float>(samples, 0.5F), rates.in_hz, rates.out_hz).size(),
                static_cast<std::size_t>((product + rates.in_hz - 1) / rates.in_hz))
          << rates.in_hz << " " << rates.out_hz << " " << samples;
    }
}

TEST(Resampler, BlockSizeDoesNotChangeBits) {
  for (const Rates& rates : kRates) {
    const std::vector<float> samples = noise(rates.in_hz > 100000 ? 20000 : 3000);
    const std::vector<float> whole = resample(samples, rates.in_hz, rates.out_hz);
    for (const std::size_t push : {1, 79, 1920})
      for (const std::size_t pull : {1, 640}) {
        const std::vector<float> parts = resample(samples, rates.in_hz, rates.out_hz, push, pull);
        ASSERT_EQ(parts.size(), whole.size());
        EXPECT_EQ(std::memcmp(parts.data(), whole.data(), whole.size() * sizeof(float)), 0)
            << rates.in_hz << " " << rates.out_hz << " " << push << " " << pull;
      }
  }
}

TEST(Resampler, ThePassbandIsFlatAndNotDelayed) {
  for (const Rates& rates : kRates) {
    const double nyquist = std::min(rates.in_hz, rates.out_hz) / 2.0;
    double worst_db = 0;
    double worst_phase = 0;
    for (int step = 1; step <= 10; ++step) {
      const double hz = nyquist * 0.913 * step / 10;
      const std::vector<float> out =
          resample(tone(hz, rates.in_hz, samples_for(rates)), rates.in_hz, rates.out_hz);
      const std::complex<double> found = amplitude(out, hz, rates.out_hz) / 0.5;
      worst_db = std::max(worst_db, std::abs(decibels(std::abs(found))));
      worst_phase = std::max(worst_phase, std::abs(std::arg(found)));
    }
    std::printf("  %6d to %5d Hz: ripple %.6f dB, phase %.1e rad\n", rates.in_hz, rates.out_hz,
                worst_db, worst_phase);
    EXPECT_LT(worst_db, 0.001);  // measured: 0.00002 at most
    EXPECT_LT(worst_phase, 1e-5);
  }
}

TEST(Resampler, ToneAboveTheNewNyquistVanishes) {
  for (const Rates& rates : kRates) {
    if (rates.in_hz < rates.out_hz * 1.1) continue;
    double worst_db = -300;
    for (int step = 0; step < 8; ++step) {
      const double low = rates.out_hz / 2.0;
      const double hz = low + (rates.in_hz / 2.0 - low) * step / 8;
      const std::vector<float> out =
          resample(tone(hz, rates.in_hz, samples_for(rates)), rates.in_hz, rates.out_hz);
      worst_db = std::max(worst_db, decibels(rms_in_the_middle(out) / (0.5 / std::numbers::sqrt2)));
    }
    std::printf("  %6d to %5d Hz: stopband %.1f dB\n", rates.in_hz, rates.out_hz, worst_db);
    EXPECT_LT(worst_db, -110);
  }
}

// Images (upsampling) and errors of interpolated phases: what is left beside the tone.
TEST(Resampler, NothingComesBesideATone) {
  for (const Rates& rates : kRates) {
    const double nyquist = std::min(rates.in_hz, rates.out_hz) / 2.0;
    double worst_db = -300;
    for (const double share : {0.031, 0.37, 0.71, 0.9}) {
      const double hz = nyquist * share;
      std::vector<float> out =
          resample(tone(hz, rates.in_hz, samples_for(rates)), rates.in_hz, rates.out_hz);
      const std::complex<double> found = amplitude(out, hz, rates.out_hz);
      Rotation rotation(hz, rates.out_hz);
      for (float& sample : out) sample -= static_cast<float>((found * rotation.next()).real());
      worst_db = std::max(worst_db, decibels(rms_in_the_middle(out) / (0.5 / std::numbers::sqrt2)));
    }
    std::printf("  %6d to %5d Hz: beside the tone %.1f dB\n", rates.in_hz, rates.out_hz, worst_db);
    EXPECT_LT(worst_db, -110);
  }
}

TEST(Resampler, AConstantStaysWhatItIs) {
  for (const Rates& rates : kRates) {
    const std::vector<float> out =
        resample(std::vector<float>(samples_for(rates), 0.25F), rates.in_hz, rates.out_hz);
    for (std::size_t i = out.size() / 4; i < out.size() * 3 / 4; ++i)
      ASSERT_NEAR(out[i], 0.25F, 1e-6) << rates.in_hz << " " << rates.out_hz;
  }
}

#ifdef VERBATIM_HAVE_SOXR
std::vector<float> soxr(const std::vector<float>& samples, const Rates& rates) {
  std::vector<float> out(static_cast<std::size_t>(
      (static_cast<std::int64_t>(samples.size()) * rates.out_hz + rates.in_hz - 1) / rates.in_hz));
  const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, SOXR_ROLLOFF_NONE);
  std::size_t done = 0;
  EXPECT_EQ(soxr_oneshot(rates.in_hz, rates.out_hz, 1, samples.data(), samples.size(), nullptr,
                         out.data(), out.size(), &done, &io, &quality, nullptr),
            nullptr);
  return out;
}

// Noise without what either filter treats in its own way: nothing above 0.9 of the lower Nyquist.
TEST(Resampler, AgreesWithSoxrInThePassband) {
  for (const Rates& rates : kRates) {
    const double nyquist = std::min(rates.in_hz, rates.out_hz) / 2.0;
    std::vector<float> samples(samples_for(rates), 0.0F);
    for (int partial = 1; partial <= 40; ++partial) {
      const std::vector<float> part =
          tone(nyquist * 0.9 * partial / 40, rates.in_hz, samples.size());
      for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += part[i] * 0.05F;
    }
    const std::vector<float> ours = resample(samples, rates.in_hz, rates.out_hz);
    const std::vector<float> theirs = soxr(samples, rates);
    ASSERT_EQ(ours.size(), theirs.size());
    std::vector<float> difference(ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) difference[i] = ours[i] - theirs[i];
    const double db = decibels(rms_in_the_middle(difference) / rms_in_the_middle(theirs));
    std::printf("  %6d to %5d Hz: from soxr %.1f dB\n", rates.in_hz, rates.out_hz, db);
    EXPECT_LT(db, -120);  // measured: -127 at most
  }
}

// Ripple and stopband of soxr by the same measure, so that "like soxr HQ" is a number.
TEST(Resampler, IsNoWorseThanSoxrHq) {
  for (const Rates& rates : {Rates{48000, 24000}, Rates{44100, 24000}}) {
    double our_stop = 0;
    double their_stop = 0;
    double our_ripple = 0;
    double their_ripple = 0;
    for (int step = 0; step < 16; ++step) {
      const double low = rates.out_hz / 2.0;
      const std::vector<float> above = tone(low * 1.005 + (rates.in_hz / 2.0 - low) * step / 17,
                                            rates.in_hz, samples_for(rates));
      our_stop = std::max(our_stop, rms_in_the_middle(resample(above, rates.in_hz, rates.out_hz)));
      their_stop = std::max(their_stop, rms_in_the_middle(soxr(above, rates)));
      const double hz = low * 0.9 * (step + 1) / 16;
      const std::vector<float> inside = tone(hz, rates.in_hz, samples_for(rates));
      const auto ripple = [&](const std::vector<float>& out) {
        return std::abs(decibels(std::abs(amplitude(out, hz, rates.out_hz)) / 0.5));
      };
      our_ripple = std::max(our_ripple, ripple(resample(inside, rates.in_hz, rates.out_hz)));
      their_ripple = std::max(their_ripple, ripple(soxr(inside, rates)));
    }
    const double full = 0.5 / std::numbers::sqrt2;
    std::printf("  %d to %d Hz: stopband %.1f dB, soxr %.1f dB; ripple %.6f dB, soxr %.6f dB\n",
                rates.in_hz, rates.out_hz, decibels(our_stop / full), decibels(their_stop / full),
                our_ripple, their_ripple);
    EXPECT_LT(decibels(our_stop / full), -100);
    EXPECT_LT(our_ripple, 0.01);
  }
}
#else
TEST(Resampler, AgreesWithSoxrInThePassband) {
  GTEST_SKIP() << "libsoxr was not found when this was built";
}
#endif

}  // namespace
}  // namespace verbatim
