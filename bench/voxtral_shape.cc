// The tensors and files of a Voxtral Realtime checkpoint in Mistral's layout. Sections 1.2, 1.5 and
// 6 of the specification.
#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "bench/model_shapes.h"
#include "text/pretokenizer.h"

namespace verbatim {
namespace {

constexpr const char* kFront = "mm_streams_embeddings.embedding_module.";
constexpr std::int32_t kSpecial = 1000;
constexpr std::int32_t kByteTokens = 256;

struct Layer {
  std::int32_t dim, hidden_dim, q_width, kv_width;
  bool has_biases;  // of q, v, o and the FFN's down, as the encoder has them
};

void add_layer(const std::string& at, const Layer& layer, std::vector<ShapedTensor>& to) {
  const auto add = [&](const char* name, std::int64_t out, std::int64_t in, bool bias) {
    to.push_back({at + name + ".weight", {out, in}});
    if (bias) to.push_back({at + name + ".bias", {out}});
  };
  to.push_back({at + "attention_norm.weight", {layer.dim}});
  add("attention.wq", layer.q_width, layer.dim, layer.has_biases);
  add("attention.wk", layer.kv_width, layer.dim, false);
  add("attention.wv", layer.kv_width, layer.dim, layer.has_biases);
  add("attention.wo", layer.dim, layer.q_width, layer.has_biases);
  to.push_back({at + "ffn_norm.weight", {layer.dim}});
  add("feed_forward.w1", layer.hidden_dim, layer.dim, false);
  add("feed_forward.w2", layer.dim, layer.hidden_dim, layer.has_biases);
  add("feed_forward.w3", layer.hidden_dim, layer.dim, false);
}

std::string params_json(const VoxtralShape& s) {
  return formatted(
             R"({"dim":%d,"n_layers":%d,"head_dim":%d,"hidden_dim":%d,"n_heads":%d,"n_kv_heads":%d,)"
             R"("use_biases":false,"causal":true,"rope_theta":1000000.0,"norm_eps":1e-05,)"
             R"("vocab_size":%d,"tied_embeddings":true,"sliding_window":%d,)"
             R"("model_max_length":131072,"ada_rms_norm_t_cond":true,)"
             R"("ada_rms_norm_t_cond_dim":%d,"multimodal":{"whisper_model_args":{"encoder_args":{)",
             s.dim, s.layers, s.head_dim, s.hidden_dim, s.heads, s.kv_heads, s.vocab, s.window,
             s.condition_dim) +
         formatted(
             R"("audio_encoding_args":{"sampling_rate":16000,"frame_rate":12.5,"num_mel_bins":%d,)"
             R"("hop_length":160,"window_size":400,"chunk_length_s":null,)"
             R"("global_log_mel_max":1.5,"transcription_format":"streaming"},)"
             R"("dim":%d,"n_layers":%d,"head_dim":%d,"hidden_dim":%d,"n_heads":%d,)"
             R"("n_kv_heads":%d,"use_biases":true,"rope_theta":1000000.0,"causal":true,)"
             R"("norm_eps":1e-05,"pos_embed":"rope","ffn_type":"swiglu","norm_type":"rms_norm",)"
             R"("sliding_window":%d},"downsample_args":{"downsample_factor":%d}}}})",
             s.mel_bins, s.encoder_dim, s.encoder_layers, s.encoder_head_dim, s.encoder_hidden_dim,
             s.encoder_heads, s.encoder_heads, s.encoder_window, s.downsample);
}

// Single bytes, then tokens of three bytes that spell their own rank.
std::string base64_token(std::int32_t rank) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digit = [&](std::int32_t value) { return kDigits[static_cast<std::size_t>(value)]; };
  if (rank < kByteTokens) return {digit(rank >> 2), digit(rank << 4 & 63), '=', '='};
  return {digit(rank >> 18 & 63), digit(rank >> 12 & 63), digit(rank >> 6 & 63), digit(rank & 63)};
}

std::string tekken_json(const VoxtralShape& shape) {
  std::string text =
      R"({"config":{"pattern":)" + json_string(kTekkenSplitRule) +
      formatted(R"(,"default_num_special_tokens":%d},"special_tokens":[],"vocab":[)", kSpecial);
  for (std::int32_t rank = 0; rank < shape.vocab - kSpecial; ++rank) {
    text += formatted(R"(%s{"rank":%d,"token_bytes":"%s","token_str":null})", rank == 0 ? "" : ",",
                      rank, base64_token(rank).c_str());
  }
  return text +
         formatted(
             R"(],"audio":{"sampling_rate":16000,"frame_rate":12.5,"audio_encoding_config":)"
             R"({"num_mel_bins":%d,"hop_length":160,"window_size":400},"chunk_length_s":null,)"
             R"("transcription_format":"streaming","transcription_delay_ms":480,)"
             R"("streaming_look_ahead_ms":2.5,"streaming_look_back_ms":52.5,)"
             R"("streaming_n_left_pad_tokens":32}})",
             shape.mel_bins);
}

}  // namespace

std::vector<ShapedTensor> voxtral_tensors(const VoxtralShape& s) {
  constexpr std::int64_t kKernel = 3;
  const std::string front = kFront;
  const std::string whisper = front + "whisper_encoder.";
  const std::string projection = front + "audio_language_projection.";
  std::vector<ShapedTensor> made{
      {front + "tok_embeddings.weight", {s.vocab, s.dim}},
      {whisper + "conv_layers.0.conv.weight", {s.encoder_dim, s.mel_bins, kKernel}},
      {whisper + "conv_layers.0.conv.bias", {s.encoder_dim}},
      {whisper + "conv_layers.1.conv.weight", {s.encoder_dim, s.encoder_dim, kKernel}},
      {whisper + "conv_layers.1.conv.bias", {s.encoder_dim}},
      {whisper + "transformer.norm.weight", {s.encoder_dim}},
      {projection + "0.weight", {s.dim, std::int64_t{s.downsample} * s.encoder_dim}},
      {projection + "2.weight", {s.dim, s.dim}},
      {"norm.weight", {s.dim}},
  };
  const std::int32_t encoder_width = s.encoder_heads * s.encoder_head_dim;
  const Layer encoder{s.encoder_dim, s.encoder_hidden_dim, encoder_width, encoder_width, true};
  for (std::int32_t i = 0; i < s.encoder_layers; ++i)
    add_layer(whisper + formatted("transformer.layers.%d.", i), encoder, made);
  const Layer decoder{s.dim, s.hidden_dim, s.heads * s.head_dim, s.kv_heads * s.head_dim, false};
  for (std::int32_t i = 0; i < s.layers; ++i) {
    const std::string at = formatted("layers.%d.", i);
    add_layer(at, decoder, made);
    made.push_back({at + "ada_rms_norm_t_cond.0.weight", {s.condition_dim, s.dim}});
    made.push_back({at + "ada_rms_norm_t_cond.2.weight", {s.dim, s.condition_dim}});
  }
  return made;
}

std::vector<TextFile> voxtral_files(const VoxtralShape& shape) {
  return {{"params.json", params_json(shape)}, {"tekken.json", tekken_json(shape)}};
}

}  // namespace verbatim
