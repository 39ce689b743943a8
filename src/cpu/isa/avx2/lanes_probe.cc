// The avx2 lanes, shown to isa_test.
#include "cpu/kernels/lanes_probe.h"

#include "cpu/isa/avx2/lanes.h"

namespace verbatim::avx2 {

extern const LanesProbe kProbe;
constinit const LanesProbe kProbe{"avx2", &probe_lanes<Lanes>, &probe_tails<Lanes>};

}  // namespace verbatim::avx2
