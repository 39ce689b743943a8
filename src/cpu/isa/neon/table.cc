// The NEON table. Every armv8-a machine runs it.
#include "cpu/kernels/table.h"

#include "cpu/isa/neon/lanes.h"
#include "cpu/kernels/plain_dots.h"

namespace verbatim::neon {
namespace {

bool runs_here() {
  return true;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table<Lanes, PlainDots<Lanes>>("neon", &runs_here);

}  // namespace verbatim::neon
