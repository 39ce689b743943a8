// The scalar lanes, shown to isa_test.
#include "cpu/kernels/lanes_probe.h"

#include "cpu/isa/scalar/lanes.h"

namespace verbatim::scalar {

extern const LanesProbe kProbe;
constinit const LanesProbe kProbe{"scalar", &probe_lanes<Lanes>, &probe_tails<Lanes>};

}  // namespace verbatim::scalar
