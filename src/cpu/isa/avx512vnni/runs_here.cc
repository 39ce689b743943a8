// Asked on every x86 machine, and therefore compiled without AVX-512.
namespace verbatim::avx512 {

bool runs_here();

}  // namespace verbatim::avx512

namespace verbatim::avx512vnni {

bool runs_here();

bool runs_here() {
  return avx512::runs_here() && __builtin_cpu_supports("avx512vnni");
}

}  // namespace verbatim::avx512vnni
