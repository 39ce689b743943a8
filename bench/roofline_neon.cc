// The ceilings of the neon lanes.
#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/neon/lanes.h"
#include "cpu/kernels/plain_dots.h"

namespace verbatim::neon {

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"neon", &fma_loop<Lanes>, &dot_loop<PlainDots<Lanes>>,
                                   &read_loop<Lanes>};

}  // namespace verbatim::neon
