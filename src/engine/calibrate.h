// The door through which commands make statistics of a dense model's inputs and learn what they are
// good for. What an engine with EngineOptions::ranges has seen is Engine::inputs().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace verbatim {

// Throws kInvalidArgument where neither the decoder nor the encoder has a choice that rounds
// activations to int8: nothing else is smoothed.
void check_smoothed(const Quantization& quant);

// What EngineOptions::calibration reads, whole or not at all. Throws kIo, and kCorrupt naming the
// weight where an input was not finite.
void write_statistics(const std::string& path, std::span<const SeenInput> seen);

// What one projection loses in the format that it is made into: ||y' - y|| / ||y|| over all outputs
// of the rows that were kept of its input, y being the product of the weight as it is stored.
struct WeightError {
  std::string name;    // as the checkpoint spells it
  std::string format;  // "w8a8"
  double plain = 0;
  double smoothed = 0;  // with the statistics; where they change nothing as plain
};

// Of all projections for which options.quant has a choice, in the order in which they are bound.
// Loads options.model as with options.calibration and refuses with the same errors, but nothing is
// kept; options.loading is told how far it is. `path` names the statistics in errors.
std::vector<WeightError> weight_errors(const EngineOptions& options, const std::string& path,
                                       std::span<const SeenInput> seen);

}  // namespace verbatim
