// Factors on a weight's columns and rows, so that what enters it fits int8 better (SmoothQuant,
// arXiv:2211.10438). y = x W^T stays as it is when column j of W is multiplied by s_j and whatever
// makes x divides feature j by it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weights/layout.h"
#include "weights/recipe.h"

namespace verbatim {

class ThreadPool;

// Powers of two; empty: none.
struct Scaling {
  std::vector<float> columns;  // multiplied, [in]
  std::vector<float> rows;     // divided, [out]
  bool empty() const { return columns.empty() && rows.empty(); }
};

// The factor of every input feature, from the largest |x| that enters there and the largest |w| of
// the weights that read it: the power of two next to sqrt(x / w). 1 where either is nought. Powers
// of two because then nothing is rounded: a product that is not quantised keeps its bits, and a
// bfloat16 weight its format. All are divided by their median, so that magnitudes (which keys and
// values keep in f16) stay where they were, and none is beyond 2^8 then.
std::vector<float> channel_scales(std::span<const float> inputs, std::span<const float> weights);

// The same, or nothing where the error that is to be expected with weights of the format (null: as
// fine as the rows) would not become clearly less: without outliers the weights lose more than the
// rows gain.
std::vector<float> smoothing_scales(std::span<const float> inputs, std::span<const float> weights,
                                    const WeightFormat* format = nullptr);

// Whether what enters a weight that is made so is rounded to int8: only then is smoothing of use.
bool rounds_rows(const WeightChoice& choice);
std::string rounding_recipes();  // "w8a8, w4a8", for messages

// The largest |w| of every column.
std::vector<float> column_maxima(const Weight& weight, ThreadPool* workers);

// The dense weight with its columns multiplied and its rows divided, in `storage`. Halves become
// float32, for they lack the exponents.
Weight scaled_weight(const Weight& dense, const Scaling& scaling, WeightStorage& storage,
                     ThreadPool* workers);

}  // namespace verbatim
