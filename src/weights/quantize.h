// Makes a dense weight into another format.
#pragma once

#include <cstdint>
#include <string>

#include "weights/layout.h"
#include "weights/recipe.h"

namespace verbatim {

class ThreadPool;

// The group that rows of `in` features get: the one that was chosen where it divides them, else its
// largest common divisor with them where that is at least 32, else all of a row.
std::int32_t fitting_group(const WeightChoice& choice, std::int32_t in);

// Shape, format and group of what quantize makes; its planes are empty. Throws kInvalidArgument
// where the weight is not dense.
Weight quantized_shape(const Weight& dense, const WeightChoice& choice, const std::string& name);

// The weight made anew, its planes in `storage`. `dense` is read row by row, by all workers (null:
// by the caller alone); the result does not depend on them. Throws kCorrupt naming the weight and
// its row where a value is not finite, and what quantized_shape throws.
Weight quantize(const Weight& dense, const WeightChoice& choice, const std::string& name,
                WeightStorage& storage, ThreadPool* workers);

}  // namespace verbatim
