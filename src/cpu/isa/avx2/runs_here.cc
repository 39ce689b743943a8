// Asked on every x86 machine, and therefore compiled without AVX2.
#include <cpuid.h>

namespace verbatim::avx2 {

bool runs_here();

// clang 14 does not know the name "f16c", so its bit is read here.
bool runs_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

}  // namespace verbatim::avx2
