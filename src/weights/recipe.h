// How weights are made into another format as they are loaded: what --quant names.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weights/format.h"

namespace verbatim {

// How the scale of a group of weights w is chosen; codes are q = w / scale, rounded to the nearest,
// halves to even, and clamped.
enum class ScaleRule : std::uint8_t {
  // The largest |w|, of blocks of 64 that run on from row to row; codes are the nearest of the
  // book's values. bitsandbytes, functional.py, quantize_4bit.
  kLargest,
  // The largest |w| over half of the range of codes, 7.5 or 127.5. compressed-tensors, helpers.py,
  // calculate_qparams; torchao, quant_primitives.py, choose_qparams_affine.
  kHalfRange,
  // From the largest |w| over 8 or 128 on, at most twenty times the scale of least squares for the
  // codes of the one before, until none changes by more than 1e-5 of itself. torchao,
  // quant_primitives.py, _choose_qparams_and_quantize_scale_only_hqq.
  kLeastSquares,
};

// Which of a part's weights are made anew.
enum class Reach : std::uint8_t {
  kProjections,  // what is multiplied in passes: its projections and its dense convolutions
  kLinears,      // as ExecuTorch: every linear, also those computed once at load; no convolution
};

struct Recipe {
  const char* name;            // as --quant spells it
  const WeightFormat* format;  // what is made
  ScaleRule rule;
  std::int32_t group;             // input features that share a scale; 0: all of a row
  bool takes_group = true;        // "int4:32" may ask for another
  bool scales_as_source = false;  // scales are rounded to the dtype of the dense weight
  Reach reach = Reach::kProjections;
};

std::span<const Recipe> recipes();  // weights/recipe.cc

// A recipe and its group; without a recipe weights stay as they are stored.
struct WeightChoice {
  const Recipe* recipe = nullptr;
  std::int32_t group = 0;  // 0: all of a row
  explicit operator bool() const { return recipe != nullptr; }
  std::string text() const;  // "none", "nf4", "int4:128"
};

// "none", "int8" or "int4:32". Throws kInvalidArgument naming the flag and what is known.
WeightChoice weight_choice(const std::string& flag, const std::string& text);

// What each part of a model is made into.
struct Quantization {
  WeightChoice decoder;
  WeightChoice encoder;  // its projections and, where there are any, its dense convolutions
  WeightChoice head;
  bool any() const { return decoder || encoder || head; }
};

}  // namespace verbatim
