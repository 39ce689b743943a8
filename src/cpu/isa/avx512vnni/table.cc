// The AVX-512 table with VNNI.
#include "cpu/kernels/table.h"

#include "cpu/isa/avx512vnni/dots.h"
#include "cpu/isa/avx512vnni/lanes.h"

namespace verbatim::avx512vnni {

bool runs_here();

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table<Lanes, Dots>("avx512vnni", &runs_here);

}  // namespace verbatim::avx512vnni
