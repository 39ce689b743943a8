// The shapes that whole models are measured in: what a published checkpoint's tensors and files
// look like, without its values.
#pragma once

#include <array>
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

// What a piece of live audio takes, behind kTurnContext positions.
struct Turn {
  const char* name;
  double audio_s = 0;     // how much of it is new
  double encode_s = 0;    // what the encoder is given, with what it looks ahead
  std::int64_t rows = 0;  // of prompt
  std::int64_t steps = 0;
};
constexpr std::int64_t kTurnContext = 1500;

// One line of the list below; everything that differs from family to family.
struct ModelShape {
  const char* name;         // as --shape spells it
  const char* config_file;  // of `files`, the one that says what the tensors are
  std::vector<ShapedTensor> (*tensors)();
  std::vector<TextFile> (*files)();
  // What is measured: audio of one encoder pass, rows of a prompt, positions in the decoder's cache
  // before a step, and passes that follow each other as live audio asks for them.
  std::vector<double> encode_s;
  std::vector<std::int64_t> prompts;
  std::vector<std::int64_t> contexts;
  std::vector<Turn> turns = {};
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

// VibeVoice-ASR in its original layout.
struct VibeVoiceShape {
  std::int32_t hidden, intermediate, layers, heads, kv_heads, vocab;
  bool tied;  // the head is the table
  std::int32_t n_filters, acoustic_dim, semantic_dim;
  std::array<std::int32_t, 6> ratios;  // in the order they are applied
  std::array<std::int32_t, 7> depths;
};
std::vector<ShapedTensor> vibevoice_tensors(const VibeVoiceShape& shape);
std::vector<TextFile> vibevoice_files(const VibeVoiceShape& shape);  // config and tokenizer.json

}  // namespace verbatim
