// The instruction sets: every operation on sixteen lanes gives the bits of the plain array, loads
// and stores of a part touch nothing beyond it. (tools/check_symbols.py sees to it that no object
// lends code to machines that cannot run it.)
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/kernels/kernel_test.h"
#include "cpu/kernels/lanes_probe.h"
#include "tensor/half.h"

namespace verbatim {

#if defined(__x86_64__)
namespace avx512vnni {
extern const LanesProbe kProbe;
}
namespace avx512 {
extern const LanesProbe kProbe;
}
namespace avxvnni {
extern const LanesProbe kProbe;
}
namespace avx2 {
extern const LanesProbe kProbe;
}
#elif defined(__aarch64__)
namespace neon {
extern const LanesProbe kProbe;
}
#endif
namespace scalar {
extern const LanesProbe kProbe;
}

namespace {

// The probes of the tables that run here.
std::vector<const LanesProbe*> probes_here() {
  constexpr const LanesProbe* kAll[] {
#if defined(__x86_64__)
    &avx512vnni::kProbe, &avx512::kProbe, &avxvnni::kProbe, &avx2::kProbe,
#elif defined(__aarch64__)
    &neon::kProbe,
#endif
        &scalar::kProbe,
  };
  std::vector<const LanesProbe*> here;
  for (const KernelTable* table : tables_here()) {
    for (const LanesProbe* probe : kAll) {
      if (std::strcmp(table->isa, probe->isa) == 0) here.push_back(probe);
    }
  }
  return here;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kSpecial[]{0.0F,    -0.0F,     0.5F,       -0.5F,      1.5F,       2.5F,
                           -2.5F,   0.3F,      -0.3F,      8388607.5F, 8388609.0F, 1e30F,
                           -1e-30F, kInfinity, -kInfinity, kNaN,       3.0F};

struct Numbers {
  float a[16];
  float b[16];
  float c[16];
  float whole[16];
  std::uint16_t halves[16];
  std::uint32_t pairs[16];
  ProbeNumbers view() const { return {a, b, c, whole, halves, pairs}; }
};

std::uint16_t some_half(TestValues& random) {
  return to_bf16(random.uniform() * 8.0F);
}

void expect_scalar_bits(const Numbers& numbers) {
  float expected[kProbes * 16];
  scalar::kProbe.run(numbers.view(), expected);
  for (const LanesProbe* probe : probes_here()) {
    float found[kProbes * 16];
    probe->run(numbers.view(), found);
    for (int i = 0; i < kProbes; ++i) {
      EXPECT_EQ(std::memcmp(found + i * 16, expected + i * 16, 64), 0)
          << probe->isa << " " << kProbeNames[i];
    }
  }
}

TEST(Isa, EveryOperationGivesTheBitsOfThePlainArray) {
  TestValues random(1);
  for (int round = 0; round < 2000; ++round) {
    Numbers numbers;
    for (int i = 0; i < 16; ++i) {
      numbers.a[i] = std::ldexp(random.uniform(), round % 60 - 30);
      numbers.b[i] = std::ldexp(random.uniform(), round % 37 - 18);
      numbers.c[i] = random.uniform();
      numbers.whole[i] = std::floor(random.uniform() * 127.0F);
      numbers.halves[i] = some_half(random);
      numbers.pairs[i] = static_cast<std::uint32_t>(some_half(random)) << 16 | some_half(random);
    }
    expect_scalar_bits(numbers);
  }
}

TEST(Isa, ZerosInfinitiesAndNaNsFollowOneRule) {
  constexpr int kCount = static_cast<int>(std::size(kSpecial));
  for (int shift = 0; shift < kCount; ++shift) {
    for (int step = 1; step < kCount; ++step) {
      Numbers numbers{};
      for (int i = 0; i < 16; ++i) {
        numbers.a[i] = kSpecial[(i + shift) % kCount];
        numbers.b[i] = kSpecial[(i * step) % kCount];
        numbers.c[i] = kSpecial[i];
        numbers.whole[i] = i % 2 == 0 ? -126.0F : 127.0F;
        numbers.halves[i] = to_bf16(kSpecial[i]);
        numbers.pairs[i] = std::bit_cast<std::uint32_t>(kSpecial[i]);
      }
      expect_scalar_bits(numbers);
    }
  }
}

TEST(Isa, MaximumAndMinimumOfANaNAreTheSecondOperand) {
  for (const LanesProbe* probe : probes_here()) {
    Numbers numbers{};
    for (int i = 0; i < 16; ++i) {
      numbers.a[i] = i % 2 == 0 ? kNaN : 7.0F;
      numbers.b[i] = i % 2 == 0 ? 7.0F : kNaN;
    }
    float found[kProbes * 16];
    probe->run(numbers.view(), found);
    for (int i = 0; i < kProbes; ++i) {
      const std::string name = kProbeNames[i];
      if (name != "max" && name != "min") continue;
      EXPECT_EQ(std::memcmp(found + i * 16, numbers.b, 64), 0) << probe->isa << " " << name;
    }
  }
}

TEST(Isa, EveryHalfWidensExactly) {
  const auto load_f16 =
      std::find(std::begin(kProbeNames), std::end(kProbeNames), std::string_view("load_f16")) -
      std::begin(kProbeNames);
  for (std::uint32_t first = 0; first < 65536; first += 16) {
    Numbers numbers{};
    for (std::uint32_t i = 0; i < 16; ++i)
      numbers.halves[i] = static_cast<std::uint16_t>(first + i);
    for (const LanesProbe* probe : probes_here()) {
      float found[kProbes * 16];
      probe->run(numbers.view(), found);
      for (int i = 0; i < 16; ++i) {
        // A signalling NaN may come out quiet.
        const float expected = from_f16(numbers.halves[i]);
        const float widened = found[load_f16 * 16 + i];
        if (std::isnan(expected) && std::isnan(widened)) continue;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(widened), std::bit_cast<std::uint32_t>(expected))
            << probe->isa << " " << numbers.halves[i];
      }
    }
  }
}

// A page that may be used in front of one that may not.
class PageEnd {
 public:
  PageEnd() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    bytes_ = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(bytes_ != MAP_FAILED, "two pages can be had");
    check(mprotect(static_cast<std::byte*>(bytes_) + page_, page_, PROT_NONE) == 0,
          "a page can be closed");
  }
  ~PageEnd() { munmap(bytes_, 2 * page_); }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;
  float* last(int count) const {
    return static_cast<float*>(static_cast<void*>(static_cast<std::byte*>(bytes_) + page_)) - count;
  }

 private:
  std::size_t page_;
  void* bytes_;
};

TEST(Isa, PartsAreLoadedAndStoredWithoutTouchingTheRest) {
  const PageEnd page;
  for (const LanesProbe* probe : probes_here()) {
    for (int n = 1; n <= 16; ++n) {
      float* floats = page.last(n);
      for (int i = 0; i < n; ++i) floats[i] = static_cast<float>(i + 1);
      std::vector<float> found(32, 99.0F);
      probe->tails(floats, n, found.data());
      for (int i = 0; i < 16; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const float expected = i < n ? static_cast<float>(i + 1) : 0.0F;
        EXPECT_EQ(found[at], expected) << probe->isa << " " << n;
        EXPECT_EQ(found[16 + at], i < n ? expected : 99.0F) << probe->isa << " " << n;
      }
    }
  }
}

TEST(Isa, TheLastTableIsScalarAndRunsEverywhere) {
  EXPECT_STREQ(scalar_table().isa, "scalar");
  EXPECT_TRUE(scalar_table().runs_here());
  for (const KernelTable* table : kernel_tables()) {
    EXPECT_FALSE(table->linear.empty()) << table->isa;
  }
}

}  // namespace
}  // namespace verbatim
