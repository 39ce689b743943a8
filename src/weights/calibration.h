// Statistics of a dense model's inputs: what `verbatim calibrate` writes and --calib reads, a
// safetensors file with one F32 tensor [in_features] per weight, under the weight's name as the
// checkpoint spells it, without ".weight".
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

// What was seen to enter the weights that read one tensor.
struct SeenInput {
  std::vector<std::string> names;
  std::int64_t count = 0;      // rows
  std::vector<float> largest;  // |x| of every feature
  std::vector<float> rows;     // some of them as they came, [sampled, features]
};

// The largest |x| of every input feature, by weight.
struct Calibration {
  std::string file;  // where it was read, for messages
  std::map<std::string, std::vector<float>, std::less<>> ranges;

  bool empty() const { return ranges.empty(); }
  // Of one weight. Throws kCorrupt where it is missing or has other features.
  std::span<const float> range(std::string_view name, std::int32_t in_features) const;
  // Throws kCorrupt for the first name that is in one of the two alone or has other features:
  // statistics of another model. weights: in_features by name.
  void check_weights(const std::map<std::string, std::int32_t, std::less<>>& weights) const;
};

Calibration calibration_of(std::span<const SeenInput> seen);

// Throws kNotFound, kIo, and kCorrupt naming the file and the tensor whose type, shape or values
// cannot be statistics.
Calibration read_calibration(const std::string& path);

// Whole or not at all. Throws kCorrupt naming the weight where an input was not finite.
void write_calibration(const std::string& path, std::span<const SeenInput> seen);

}  // namespace verbatim
