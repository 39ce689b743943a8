// Rows of activations as formats that round them meet them.
#pragma once

#include <span>

#include "weights/format.h"

namespace verbatim {

// The row as Activations says, codes widened to the values that they stand for; as it is for
// kFloat.
void round_as(Activations activations, std::span<float> row);

}  // namespace verbatim
