// The neon lanes, shown to isa_test.
#include "cpu/kernels/lanes_probe.h"

#include "cpu/isa/neon/lanes.h"

namespace verbatim::neon {

extern const LanesProbe kProbe;
constinit const LanesProbe kProbe{"neon", &probe_lanes<Lanes>, &probe_tails<Lanes>};

}  // namespace verbatim::neon
