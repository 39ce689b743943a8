// The AVX-512 table.
#include "cpu/kernels/table.h"

#include "cpu/isa/avx512/lanes.h"
#include "cpu/kernels/plain_dots.h"

namespace verbatim::avx512 {

bool runs_here();

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table<Lanes, PlainDots<Lanes>>("avx512", &runs_here);

}  // namespace verbatim::avx512
