// The AVX2 table with VNNI.
#include "cpu/kernels/table.h"

#include "cpu/isa/avxvnni/dots.h"
#include "cpu/isa/avxvnni/lanes.h"

namespace verbatim::avxvnni {

bool runs_here();

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table<Lanes, Dots>("avxvnni", &runs_here);

}  // namespace verbatim::avxvnni
