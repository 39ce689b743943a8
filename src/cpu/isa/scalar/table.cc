// The table over an array: baseline code that runs everywhere.
#include "cpu/kernels/table.h"

#include "cpu/isa/scalar/lanes.h"
#include "cpu/kernels/plain_dots.h"

namespace verbatim::scalar {
namespace {

bool runs_here() {
  return true;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table<Lanes, PlainDots<Lanes>>("scalar", &runs_here);

}  // namespace verbatim::scalar
