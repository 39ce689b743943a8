// Asked on every x86 machine, and therefore compiled without AVX2.
#include <cpuid.h>

namespace verbatim::avx2 {

bool runs_here();

}  // namespace verbatim::avx2

namespace verbatim::avxvnni {

bool runs_here();

// The compilers at hand have no name for it: bit 4 of EAX of leaf 7.1.
bool runs_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return avx2::runs_here() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1U << 4) != 0;
}

}  // namespace verbatim::avxvnni
