// The list. A shape of a family that is here is one line, with its numbers.
#include "bench/model_shapes.h"

#include "base/error.h"

namespace verbatim {
namespace {

// Voxtral-Mini-4B-Realtime-2602, params.json.
constexpr VoxtralShape kVoxtral4b{.dim = 3072,
                                  .layers = 26,
                                  .head_dim = 128,
                                  .hidden_dim = 9216,
                                  .heads = 32,
                                  .kv_heads = 8,
                                  .window = 8192,
                                  .vocab = 131072,
                                  .condition_dim = 32,
                                  .encoder_dim = 1280,
                                  .encoder_layers = 32,
                                  .encoder_head_dim = 64,
                                  .encoder_hidden_dim = 5120,
                                  .encoder_heads = 32,
                                  .encoder_window = 750,
                                  .mel_bins = 128,
                                  .downsample = 4};
// Measured in a moment, for a test of the bench itself.
constexpr VoxtralShape kTiny{.dim = 64,
                             .layers = 2,
                             .head_dim = 16,
                             .hidden_dim = 96,
                             .heads = 4,
                             .kv_heads = 2,
                             .window = 512,
                             .vocab = 1536,
                             .condition_dim = 8,
                             .encoder_dim = 32,
                             .encoder_layers = 2,
                             .encoder_head_dim = 16,
                             .encoder_hidden_dim = 64,
                             .encoder_heads = 2,
                             .encoder_window = 50,
                             .mel_bins = 16,
                             .downsample = 4};
constexpr std::int32_t kDelay480ms = 5;

}  // namespace

std::span<const ModelShape> model_shapes() {
  static const std::vector<ModelShape> kShapes{
      {.name = "voxtral-4b",
       .config_file = "params.json",
       .tensors = [] { return voxtral_tensors(kVoxtral4b); },
       .files = [] { return voxtral_files(kVoxtral4b); },
       .encode_s = {0.08, 0.32, 4},
       .contexts = {0, 1500, 8192},
       .condition = kDelay480ms},
      {.name = "tiny",
       .config_file = "params.json",
       .tensors = [] { return voxtral_tensors(kTiny); },
       .files = [] { return voxtral_files(kTiny); },
       .encode_s = {0.08, 0.32, 4},
       .contexts = {0, 100, 512},
       .condition = kDelay480ms},
  };
  return kShapes;
}

const ModelShape& model_shape(const std::string& name) {
  std::string known;
  for (const ModelShape& shape : model_shapes()) {
    if (name == shape.name) return shape;
    append_listed(known, shape.name);
  }
  fail(Code::kInvalidArgument, "--shape: expected one of %s, found '%s'", known.c_str(),
       name.c_str());
}

}  // namespace verbatim
