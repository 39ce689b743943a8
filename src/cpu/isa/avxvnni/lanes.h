// The lanes of AVX2 once more, for machines that multiply bytes besides.
#pragma once

#include "cpu/isa/avx2/lanes.h"

namespace verbatim::avxvnni {

struct Isa;
using Lanes = Lanes256<Isa>;

}  // namespace verbatim::avxvnni
