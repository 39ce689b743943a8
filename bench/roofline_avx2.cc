// The ceilings of the avx2 lanes.
#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/avx2/dots.h"
#include "cpu/isa/avx2/lanes.h"

namespace verbatim::avx2 {

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"avx2", &fma_loop<Lanes>, &dot_loop<Dots>, &read_loop<Lanes>};

}  // namespace verbatim::avx2
