// The ceilings of the scalar lanes.
#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/scalar/lanes.h"
#include "cpu/kernels/plain_dots.h"

namespace verbatim::scalar {

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"scalar", &fma_loop<Lanes>, &dot_loop<PlainDots<Lanes>>,
                                   &read_loop<Lanes>};

}  // namespace verbatim::scalar
