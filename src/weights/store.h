// How weights that were made are stored in a checkpoint: the other direction of weights/layout.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/write_safetensors.h"
#include "weights/recipe.h"

namespace verbatim {

struct StoredWeight {
  std::string name;                      // its prefix, "...q_proj"
  Weight shape;                          // of what is made; its planes are empty
  const WeightFormat* source = nullptr;  // of the dense weight
};

struct LayoutWriter {
  const char* name;  // of the layout that reads it
  bool (*writes)(const Recipe& recipe);
  // The tensors that a weight becomes; `.weight` may be one of them.
  std::vector<PlannedTensor> (*plan)(const StoredWeight& weight);
  // Their bytes, in this order; `made` has its planes. Throws kCorrupt naming the weight where a
  // scale is no number of the type that was planned.
  std::vector<std::vector<std::byte>> (*store)(const StoredWeight& weight, const Weight& made);
  // quantization_config, a JSON object. `dense`: the modules that keep weights as they were.
  std::string (*config)(std::span<const StoredWeight> weights, std::span<const std::string> dense);
};

std::span<const LayoutWriter* const> layout_writers();  // weights/store.cc

// Throws kInvalidArgument naming the flag and what can be written.
const LayoutWriter& layout_writer(const std::string& flag, const WeightChoice& choice);

// What writers share.

RawType raw_type_of(const WeightFormat& dense);

// The largest modules in which all weights are dense, as configs list them: without the names in
// front that readers' classes put there or leave out, numbers of layers as [0-9]+. The head is one
// of them even where no tensor is its own.
struct DenseModule {
  std::string expression;  // "layers[.][0-9]+[.]ada_rms_norm"
  std::string plain;       // what is behind its last number: "ada_rms_norm"
  bool is_weight = false;  // has no modules inside
};
std::vector<DenseModule> dense_modules(std::span<const StoredWeight> weights,
                                       std::span<const std::string> dense);
std::string module_expression(const std::string& name);

// Is any of the weights meant by the pattern?
bool means_any(const std::string& pattern, std::span<const StoredWeight> weights);

std::string json_list(std::span<const std::string> texts);

}  // namespace verbatim
