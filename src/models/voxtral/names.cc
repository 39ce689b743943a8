// Three spellings of one tree. Reference: transformers
// convert_voxtral_realtime_weights_to_hf.py, its renaming tables.
#include "models/voxtral/names.h"

#include "checkpoint/checkpoint.h"

namespace verbatim::voxtral {
namespace {

constexpr TransformerNames kMistralLayer{
    .input_norm = "attention_norm",
    .q = "attention.wq",
    .k = "attention.wk",
    .v = "attention.wv",
    .o = "attention.wo",
    .post_norm = "ffn_norm",
    .gate = "feed_forward.w1",
    .up = "feed_forward.w3",
    .down = "feed_forward.w2",
};

Names mistral_names(const Checkpoint& checkpoint, const Config& config) {
  constexpr const char* kFirst = "whisper_encoder.conv_layers.0.conv.weight";
  constexpr const char* kPrefix = "mm_streams_embeddings.embedding_module.";
  std::string front = kPrefix;
  for (const char* other : {"mm_whisper_embeddings.", "mm_whisper_embeddings.embedding_module."}) {
    if (checkpoint.find(std::string(other) + kFirst) != nullptr) front = other;
  }
  checkpoint.tensor(front + kFirst);
  Names made;
  made.conv1 = front + "whisper_encoder.conv_layers.0.conv";
  made.conv2 = front + "whisper_encoder.conv_layers.1.conv";
  made.encoder = front + "whisper_encoder.transformer";
  made.encoder_norm = made.encoder + ".norm";
  made.linear1 = front + "audio_language_projection.0";
  made.linear2 = front + "audio_language_projection.2";
  made.embed_tokens = front + "tok_embeddings";
  made.norm = "norm";
  if (checkpoint.find("output.weight") != nullptr)
    (config.tied_embeddings ? made.ignored : made.lm_head) = "output";
  made.ada1 = "ada_rms_norm_t_cond.0";
  made.ada2 = "ada_rms_norm_t_cond.2";
  made.encoder_layer = made.decoder_layer = kMistralLayer;
  return made;
}

Names transformers_names(const Checkpoint& checkpoint) {
  const bool is_nested = checkpoint.find("model.audio_tower.embedder.conv1.weight") != nullptr;
  const std::string front = is_nested ? "model." : "";
  checkpoint.tensor(front + "audio_tower.embedder.conv1.weight");
  Names made;
  made.conv1 = front + "audio_tower.embedder.conv1";
  made.conv2 = front + "audio_tower.embedder.conv2";
  made.encoder = front + "audio_tower";
  made.encoder_norm = made.encoder + ".norm";
  made.linear1 = front + "multi_modal_projector.linear_1";
  made.linear2 = front + "multi_modal_projector.linear_2";
  made.decoder = is_nested ? "model.language_model" : "language_model.model";
  made.embed_tokens = made.decoder + ".embed_tokens";
  made.norm = made.decoder + ".norm";
  for (const char* name : {"lm_head", "language_model.lm_head", "model.language_model.lm_head"}) {
    if (checkpoint.find(std::string(name) + ".weight") != nullptr) made.lm_head = name;
  }
  made.ada1 = "ada_rms_norm.linear1";
  made.ada2 = "ada_rms_norm.linear2";
  made.encoder_layer.input_norm = "self_attn_layer_norm";
  made.encoder_layer.post_norm = "final_layer_norm";
  return made;
}

}  // namespace

Names names_of(const Checkpoint& checkpoint, const Config& config) {
  return config.layout == Layout::kMistral ? mistral_names(checkpoint, config)
                                           : transformers_names(checkpoint);
}

}  // namespace verbatim::voxtral
