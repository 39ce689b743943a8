// The avx512vnni lanes, shown to isa_test.
#include "cpu/kernels/lanes_probe.h"

#include "cpu/isa/avx512vnni/lanes.h"

namespace verbatim::avx512vnni {

extern const LanesProbe kProbe;
constinit const LanesProbe kProbe{"avx512vnni", &probe_lanes<Lanes>, &probe_tails<Lanes>};

}  // namespace verbatim::avx512vnni
