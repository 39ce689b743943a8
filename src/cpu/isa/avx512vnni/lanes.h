// The lanes of AVX-512 once more, for machines that multiply bytes besides.
#pragma once

#include "cpu/isa/avx512/lanes.h"

namespace verbatim::avx512vnni {

struct Isa;
using Lanes = Lanes512<Isa>;

}  // namespace verbatim::avx512vnni
