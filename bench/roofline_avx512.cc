// The ceilings of the avx512 lanes.
#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/avx512/lanes.h"
#include "cpu/kernels/plain_dots.h"

namespace verbatim::avx512 {

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"avx512", &fma_loop<Lanes>, &dot_loop<PlainDots<Lanes>>,
                                   &read_loop<Lanes>};

}  // namespace verbatim::avx512
