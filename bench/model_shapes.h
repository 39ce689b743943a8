// The shapes that whole models are measured in: what a published checkpoint's tensors and files
// look like, without its values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace verbatim {

struct ShapedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

struct TextFile {
  std::string name;
  std::string text;
};

// One line of the list below; everything that differs from family to family.
struct ModelShape {
  const char* name;         // as --shape spells it
  const char* config_file;  // of `files`, the one that says what the tensors are
  std::vector<ShapedTensor> (*tensors)();
  std::vector<TextFile> (*files)();
  // What is measured: audio of one encoder pass, and positions in the decoder's cache before a
  // step.
  std::vector<double> encode_s;
  std::vector<std::int64_t> contexts;
  std::int32_t condition = 0;  // which row of a conditioned gain the decoder takes
};

std::span<const ModelShape> model_shapes();
const ModelShape& model_shape(const std::string& name);  // throws, listing those that are known

// Voxtral Realtime as Mistral publishes it.
struct VoxtralShape {
  std::int32_t dim, layers, head_dim, hidden_dim, heads, kv_heads, window;
  std::int32_t vocab, condition_dim;
  std::int32_t encoder_dim, encoder_layers, encoder_head_dim, encoder_hidden_dim, encoder_heads;
  std::int32_t encoder_window, mel_bins, downsample;
};
std::vector<ShapedTensor> voxtral_tensors(const VoxtralShape& shape);
std::vector<TextFile> voxtral_files(const VoxtralShape& shape);  // params.json and tekken.json

}  // namespace verbatim
