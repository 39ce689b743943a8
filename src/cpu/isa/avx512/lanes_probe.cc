// The avx512 lanes, shown to isa_test.
#include "cpu/kernels/lanes_probe.h"

#include "cpu/isa/avx512/lanes.h"

namespace verbatim::avx512 {

extern const LanesProbe kProbe;
constinit const LanesProbe kProbe{"avx512", &probe_lanes<Lanes>, &probe_tails<Lanes>};

}  // namespace verbatim::avx512
