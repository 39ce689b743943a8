// The AVX2 table.
#include "cpu/kernels/table.h"

#include "cpu/isa/avx2/dots.h"
#include "cpu/isa/avx2/lanes.h"

namespace verbatim::avx2 {

bool runs_here();

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table<Lanes, Dots>("avx2", &runs_here);

}  // namespace verbatim::avx2
