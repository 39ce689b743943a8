// What a product loses where its weight, and the rows that enter it, are rounded.
#pragma once

#include <span>
#include <string>

#include "weights/recipe.h"
#include "weights/scaling.h"

namespace verbatim {

// ||y' - y|| / ||y|| over all outputs of the rows x, [n, in_features]. y = x W^T with the weight as
// it is stored; y' with the weight as the choice makes it, from rows that are rounded where its
// format rounds them. With a scaling, x is divided by its columns before and y' multiplied by its
// rows. 0 where y is nought; what quantize throws.
double product_error(const Weight& stored, const WeightChoice& choice, const Scaling& scaling,
                     std::span<const float> rows, const std::string& name, ThreadPool* workers);

}  // namespace verbatim
