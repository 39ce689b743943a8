// The ceilings there are, by instruction set.
#include "bench/roofline.h"

#include <cstring>

#include "base/error.h"

namespace verbatim {

#if defined(__x86_64__)
namespace avx512vnni {
extern const Roofline kRoofline;
}
namespace avx512 {
extern const Roofline kRoofline;
}
namespace avxvnni {
extern const Roofline kRoofline;
}
namespace avx2 {
extern const Roofline kRoofline;
}
#elif defined(__aarch64__)
namespace neon {
extern const Roofline kRoofline;
}
#endif
namespace scalar {
extern const Roofline kRoofline;
}

std::span<const Roofline* const> rooflines() {
  static constexpr const Roofline* kRooflines[] {
#if defined(__x86_64__)
    &avx512vnni::kRoofline, &avx512::kRoofline, &avxvnni::kRoofline, &avx2::kRoofline,
#elif defined(__aarch64__)
    &neon::kRoofline,
#endif
        &scalar::kRoofline,
  };
  return kRooflines;
}

const Roofline& roofline(const char* isa) {
  for (const Roofline* candidate : rooflines()) {
    if (std::strcmp(candidate->isa, isa) == 0) return *candidate;
  }
  fail(Code::kNotFound, "no ceiling is measured for the instruction set %s", isa);
}

}  // namespace verbatim
