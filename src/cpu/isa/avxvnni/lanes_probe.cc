// The avxvnni lanes, shown to isa_test.
#include "cpu/kernels/lanes_probe.h"

#include "cpu/isa/avxvnni/lanes.h"

namespace verbatim::avxvnni {

extern const LanesProbe kProbe;
constinit const LanesProbe kProbe{"avxvnni", &probe_lanes<Lanes>, &probe_tails<Lanes>};

}  // namespace verbatim::avxvnni
