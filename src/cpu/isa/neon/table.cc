// The NEON table. Every armv8-a machine runs it.
#include "cpu/isa/neon/lanes.h"
#include "cpu/kernel_table.h"

namespace verbatim::neon {
namespace {

bool runs_here() {
  return true;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable{
    .isa = "neon",
    .runs_here = &runs_here,
    .linear = {},
    .depthwise = nullptr,
    .attention = {},
    .attention_rows = 0,
    .attention_scratch_bytes = nullptr,
    .rms_norm = nullptr,
    .swiglu = nullptr,
    .add = nullptr,
    .rope = nullptr,
    .arg_max = nullptr,
};

}  // namespace verbatim::neon
