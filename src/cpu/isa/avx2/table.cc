// The AVX2 table. Only templates over Lanes are instantiated here, so that no code compiled for
// AVX2 can stand in for a function of another object.
#include <cpuid.h>

#include "cpu/isa/avx2/lanes.h"
#include "cpu/kernel_table.h"

namespace verbatim::avx2 {
namespace {

// clang 14 does not know the name "f16c", so its bit is read here.
bool runs_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable{
    .isa = "avx2",
    .runs_here = &runs_here,
    .linear = {},
    .depthwise = nullptr,
    .attention = {},
    .attention_rows = 0,
    .attention_scratch_bytes = nullptr,
    .rms_norm = nullptr,
    .swiglu = nullptr,
    .add = nullptr,
    .rope = nullptr,
    .arg_max = nullptr,
};

}  // namespace verbatim::avx2
