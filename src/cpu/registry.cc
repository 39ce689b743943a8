// The instruction sets, best first.
#include "cpu/kernel_table.h"

namespace verbatim {

#if defined(__x86_64__)
namespace avx512vnni {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
namespace avxvnni {
extern const KernelTable kTable;
}
namespace avx2 {
extern const KernelTable kTable;
}
#elif defined(__aarch64__)
namespace neon {
extern const KernelTable kTable;
}
#endif
namespace scalar {
extern const KernelTable kTable;
}

std::span<const KernelTable* const> kernel_tables() {
  static constexpr const KernelTable* kTables[] {
#if defined(__x86_64__)
    &avx512vnni::kTable, &avx512::kTable, &avxvnni::kTable, &avx2::kTable,
#elif defined(__aarch64__)
    &neon::kTable,
#endif
        &scalar::kTable,
  };
  return kTables;
}

}  // namespace verbatim
