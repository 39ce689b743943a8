// The tensors and files of a VibeVoice-ASR checkpoint in the original layout. Sections 1.2, 1.5 and
// 1.6 of the specification.
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "bench/model_shapes.h"
#include "text/pretokenizer.h"

namespace verbatim {
namespace {

constexpr std::int64_t kKernel = 7;
constexpr std::int64_t kExpansion = 4;

using Tensors = std::vector<ShapedTensor>;

void add_with_bias(const std::string& name, std::vector<std::int64_t> shape, Tensors& to) {
  const std::int64_t out = shape.front();
  to.push_back({name + ".weight", std::move(shape)});
  to.push_back({name + ".bias", {out}});
}

void add_block(const std::string& at, std::int64_t width, Tensors& to) {
  to.push_back({at + "norm.weight", {width}});
  add_with_bias(at + "mixer.conv.conv.conv", {width, 1, kKernel}, to);
  to.push_back({at + "gamma", {width}});
  to.push_back({at + "ffn_norm.weight", {width}});
  add_with_bias(at + "ffn.linear1", {kExpansion * width, width}, to);
  add_with_bias(at + "ffn.linear2", {width, kExpansion * width}, to);
  to.push_back({at + "ffn_gamma", {width}});
}

void add_encoder(const std::string& at, const VibeVoiceShape& s, std::int32_t vae_dim,
                 Tensors& to) {
  std::int64_t width = s.n_filters;
  for (std::size_t stage = 0; stage < s.depths.size(); ++stage) {
    const std::string down = at + formatted("downsample_layers.%zu.0.conv.conv", stage);
    if (stage == 0) {
      add_with_bias(down, {width, 1, kKernel}, to);
    } else {
      add_with_bias(down, {2 * width, width, std::int64_t{2} * s.ratios[stage - 1]}, to);
      width *= 2;
    }
    for (std::int32_t j = 0; j < s.depths[stage]; ++j)
      add_block(at + formatted("stages.%zu.%d.", stage, j), width, to);
  }
  add_with_bias(at + "head.conv.conv", {vae_dim, width, kKernel}, to);
}

void add_connector(const std::string& at, std::int64_t hidden, std::int64_t vae_dim, Tensors& to) {
  add_with_bias(at + "fc1", {hidden, vae_dim}, to);
  to.push_back({at + "norm.weight", {hidden}});
  add_with_bias(at + "fc2", {hidden, hidden}, to);
}

void add_layer(const std::string& at, const VibeVoiceShape& s, Tensors& to) {
  const std::int64_t hidden = s.hidden;
  const std::int64_t kv_width = hidden / s.heads * s.kv_heads;
  to.push_back({at + "input_layernorm.weight", {hidden}});
  add_with_bias(at + "self_attn.q_proj", {hidden, hidden}, to);
  add_with_bias(at + "self_attn.k_proj", {kv_width, hidden}, to);
  add_with_bias(at + "self_attn.v_proj", {kv_width, hidden}, to);
  to.push_back({at + "self_attn.o_proj.weight", {hidden, hidden}});
  to.push_back({at + "post_attention_layernorm.weight", {hidden}});
  to.push_back({at + "mlp.gate_proj.weight", {s.intermediate, hidden}});
  to.push_back({at + "mlp.up_proj.weight", {s.intermediate, hidden}});
  to.push_back({at + "mlp.down_proj.weight", {hidden, s.intermediate}});
}

std::string encoder_json(const VibeVoiceShape& s, const char* which, std::int32_t vae_dim) {
  std::string ratios;
  for (const std::int32_t ratio : s.ratios) {
    ratios = std::to_string(ratio) + (ratios.empty() ? "" : ",") + ratios;  // the last comes first
  }
  std::string depths;
  for (const std::int32_t depth : s.depths)
    depths += (depths.empty() ? "" : "-") + std::to_string(depth);
  return formatted(R"("%s_tokenizer_config":{"model_type":"vibevoice_%s_tokenizer","causal":true,)"
                   R"("channels":1,"vae_dim":%d,"encoder_n_filters":%d,"encoder_ratios":[%s],)"
                   R"("encoder_depths":"%s","layernorm":"RMSNorm","layernorm_eps":1e-05,)"
                   R"("layernorm_elementwise_affine":true,"disable_last_norm":true,)"
                   R"("mixer_layer":"depthwise_conv","conv_norm":"none","conv_bias":true,)"
                   R"("pad_mode":"constant","fix_std":0,"std_dist_type":"none"},)",
                   which, which, vae_dim, s.n_filters, ratios.c_str(), depths.c_str());
}

std::string config_json(const VibeVoiceShape& s) {
  return formatted(R"({"model_type":"vibevoice","architectures":["VibeVoiceForASRTraining"],)"
                   R"("acoustic_vae_dim":%d,"semantic_vae_dim":%d,)",
                   s.acoustic_dim, s.semantic_dim) +
         encoder_json(s, "acoustic", s.acoustic_dim) + encoder_json(s, "semantic", s.semantic_dim) +
         formatted(
             R"("decoder_config":{"model_type":"qwen2","hidden_size":%d,"intermediate_size":%d,)"
             R"("num_hidden_layers":%d,"num_attention_heads":%d,"num_key_value_heads":%d,)"
             R"("vocab_size":%d,"max_position_embeddings":131072,"hidden_act":"silu",)"
             R"("rms_norm_eps":1e-06,"rope_theta":1000000.0,"rope_scaling":null,)"
             R"("use_mrope":false,"sliding_window":null,"use_sliding_window":false,)"
             R"("tie_word_embeddings":%s},"dtype":"float32"})",
             s.hidden, s.intermediate, s.layers, s.heads, s.kv_heads, s.vocab,
             s.tied ? "true" : "false");
}

// Bytes as byte-level BPE spells them: printable Latin-1 as itself, the others from U+0100 on.
std::string byte_tokens() {
  std::string text;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_itself =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    std::string name;
    append_utf8(name, is_itself ? byte : next++);
    text += byte == 0 ? "" : ",";
    append_json_string(text, name);
    text += ":" + std::to_string(byte);
  }
  return text;
}

// No merges: what is measured is no text. The tokens are those that a prompt is made of.
std::string tokenizer_json() {
  constexpr std::array<const char*, 6> kSpecial{"<|endoftext|>",      "<|im_start|>",
                                                "<|im_end|>",         "<|object_ref_start|>",
                                                "<|object_ref_end|>", "<|box_start|>"};
  std::string added;
  int id = 256;
  for (const char* text : kSpecial) {
    added += formatted(R"(%s{"id":%d,"content":"%s","single_word":false,"lstrip":false,)"
                       R"("rstrip":false,"normalized":false,"special":true})",
                       added.empty() ? "" : ",", id, text);
    ++id;
  }
  return R"({"version":"1.0","added_tokens":[)" + added +
         R"(],"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[)"
         R"({"type":"Split","pattern":{"Regex":)" +
         json_string(kSplitRule) +
         R"(},"behavior":"Isolated","invert":false},)"
         R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]},)"
         R"("post_processor":null,"decoder":{"type":"ByteLevel"},)"
         R"("model":{"type":"BPE","vocab":{)" +
         byte_tokens() + R"(},"merges":[]}})";
}

}  // namespace

std::vector<ShapedTensor> vibevoice_tensors(const VibeVoiceShape& s) {
  const std::string model = "model.";
  const std::string lm = model + "language_model.";
  Tensors made;
  add_encoder(model + "acoustic_tokenizer.encoder.", s, s.acoustic_dim, made);
  add_encoder(model + "semantic_tokenizer.encoder.", s, s.semantic_dim, made);
  add_connector(model + "acoustic_connector.", s.hidden, s.acoustic_dim, made);
  add_connector(model + "semantic_connector.", s.hidden, s.semantic_dim, made);
  made.push_back({lm + "embed_tokens.weight", {s.vocab, s.hidden}});
  for (std::int32_t i = 0; i < s.layers; ++i) add_layer(lm + formatted("layers.%d.", i), s, made);
  made.push_back({lm + "norm.weight", {s.hidden}});
  if (!s.tied) made.push_back({"lm_head.weight", {s.vocab, s.hidden}});
  return made;
}

std::vector<TextFile> vibevoice_files(const VibeVoiceShape& shape) {
  return {{"config.json", config_json(shape)}, {"tokenizer.json", tokenizer_json()}};
}

}  // namespace verbatim
