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

// Of VibeVoice's encoders at their published size; the decoder is Qwen2.5-7B's.
constexpr VibeVoiceShape kVibeVoice7b{.hidden = 3584,
                                      .intermediate = 18944,
                                      .layers = 28,
                                      .heads = 28,
                                      .kv_heads = 4,
                                      .vocab = 152064,
                                      .tied = false,
                                      .n_filters = 32,
                                      .acoustic_dim = 64,
                                      .semantic_dim = 128,
                                      .ratios = {2, 2, 4, 5, 5, 8},
                                      .depths = {3, 3, 3, 3, 3, 3, 8}};

// The same encoders before Qwen2.5-1.5B.
constexpr VibeVoiceShape small_vibevoice() {
  VibeVoiceShape shape = kVibeVoice7b;
  shape.hidden = 1536;
  shape.intermediate = 8960;
  shape.heads = 12;
  shape.kv_heads = 2;
  shape.vocab = 151936;
  shape.tied = true;
  return shape;
}
constexpr VibeVoiceShape kVibeVoice1b5 = small_vibevoice();

constexpr VibeVoiceShape kTinyVibeVoice{.hidden = 64,
                                        .intermediate = 160,
                                        .layers = 2,
                                        .heads = 4,
                                        .kv_heads = 2,
                                        .vocab = 512,
                                        .tied = true,
                                        .n_filters = 4,
                                        .acoustic_dim = 16,
                                        .semantic_dim = 32,
                                        .ratios = {2, 2, 4, 5, 5, 8},
                                        .depths = {1, 1, 1, 1, 1, 1, 2}};

// 22 new frames of 3200 samples and 4 to look ahead; 29 rows of prompt, ten tokens of answer.
constexpr double kChunkS = 22 * 3200.0 / 24000;
constexpr double kChunkAheadS = 3.467;

}  // namespace

std::span<const ModelShape> model_shapes() {
  static const std::vector<Turn> kChunk{{.name = "chunk of 22 frames",
                                         .audio_s = kChunkS,
                                         .encode_s = kChunkAheadS,
                                         .rows = 29,
                                         .steps = 10}};
  static const std::vector<Turn> kLive{
      {.name = "80 ms live", .audio_s = 0.08, .encode_s = 0.08, .steps = 1},
      {.name = "320 ms encoded at once", .audio_s = 0.32, .encode_s = 0.32, .steps = 4}};
  static const std::vector<ModelShape> kShapes{
      {.name = "vibevoice-asr-7b",
       .config_file = "config.json",
       .tensors = [] { return vibevoice_tensors(kVibeVoice7b); },
       .files = [] { return vibevoice_files(kVibeVoice7b); },
       .encode_s = {kChunkAheadS},
       .prompts = {29, 160, 1500},
       .contexts = {0, 1500, 14449},
       .turns = kChunk},
      {.name = "vibevoice-1.5b",
       .config_file = "config.json",
       .tensors = [] { return vibevoice_tensors(kVibeVoice1b5); },
       .files = [] { return vibevoice_files(kVibeVoice1b5); },
       .encode_s = {kChunkAheadS},
       .prompts = {29, 160, 1500},
       .contexts = {0, 1500, 14449},
       .turns = kChunk},
      {.name = "voxtral-4b",
       .config_file = "params.json",
       .tensors = [] { return voxtral_tensors(kVoxtral4b); },
       .files = [] { return voxtral_files(kVoxtral4b); },
       .encode_s = {0.08, 0.32, 4},
       .prompts = {29, 39, 160, 1500},
       .contexts = {0, 1500, 8192},
       .turns = kLive,
       .condition = kDelay480ms},
      {.name = "tiny",
       .config_file = "params.json",
       .tensors = [] { return voxtral_tensors(kTiny); },
       .files = [] { return voxtral_files(kTiny); },
       .encode_s = {0.08, 0.32, 4},
       .prompts = {29, 39, 600},
       .contexts = {0, 100, 512},
       .turns = kLive,
       .condition = kDelay480ms},
      {.name = "tiny-vibevoice",
       .config_file = "config.json",
       .tensors = [] { return vibevoice_tensors(kTinyVibeVoice); },
       .files = [] { return vibevoice_files(kTinyVibeVoice); },
       .encode_s = {kChunkAheadS},
       .prompts = {29, 600},
       .contexts = {0, 100},
       .turns = kChunk},
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
