// The ceilings of the avxvnni lanes.
#include "bench/roofline.h"
#include "bench/roofline_loops.h"
#include "cpu/isa/avxvnni/dots.h"
#include "cpu/isa/avxvnni/lanes.h"

namespace verbatim::avxvnni {

extern const Roofline kRoofline;
constinit const Roofline kRoofline{"avxvnni", &fma_loop<Lanes>, &dot_loop<Dots>, &read_loop<Lanes>};

}  // namespace verbatim::avxvnni
