// The ceilings of the avx512vnni lanes.
#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/avx512vnni/dots.h"
#include "cpu/isa/avx512vnni/lanes.h"

namespace verbatim::avx512vnni {

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"avx512vnni", &fma_loop<Lanes>, &dot_loop<Dots>,
                                   &read_loop<Lanes>};

}  // namespace verbatim::avx512vnni
