// The decoder of every family: RMSNorm, grouped-query attention with rotary positions, SwiGLU.
// Reference: transformers modeling_qwen2.py, Qwen2DecoderLayer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/trace.h"
#include "nn/binder.h"

namespace verbatim {

struct TransformerConfig {  // names as in config.json
  std::int32_t num_hidden_layers = 0;
  std::int32_t hidden_size = 0;
  std::int32_t intermediate_size = 0;
  std::int32_t num_attention_heads = 0;
  std::int32_t num_key_value_heads = 0;
  std::int32_t head_dim = 0;
  std::int64_t sliding_window = 0;
  float rms_norm_eps = 0;
  // Which projections have a bias; every other one that a checkpoint holds is surplus.
  bool q_bias = false, k_bias = false, v_bias = false, o_bias = false, down_bias = false;
};

struct TransformerNames {  // below "layers.<i>"; these are those of transformers
  const char* input_norm = "input_layernorm";
  const char* q = "self_attn.q_proj";
  const char* k = "self_attn.k_proj";
  const char* v = "self_attn.v_proj";
  const char* o = "self_attn.o_proj";
  const char* post_norm = "post_attention_layernorm";
  const char* gate = "mlp.gate_proj";
  const char* up = "mlp.up_proj";
  const char* down = "mlp.down_proj";
};

// Factors of a layer's post_norm, [conditions, hidden]; from stands below "layers.<i>".
using Conditioning = std::function<std::vector<float>(const Binder& from)>;

struct TransformerLayer {
  Tensor input_norm;      // [1, hidden]
  Linear q, k, v, o;      // [heads * head_dim, hidden], ..., [hidden, heads * head_dim]
  Tensor post_norm;       // [conditions, hidden]
  Linear gate, up, down;  // [intermediate, hidden] twice, [hidden, intermediate]
};

struct Stage {  // which layers run where; a single stage when the model lives on one device
  Device* device = nullptr;
  std::int32_t first_layer = 0;
  std::int32_t end_layer = 0;
};

// 1 / theta^(2i / head_dim) in float32. Reference: modeling_rope_utils.py, default rope parameters.
std::unique_ptr<RopeTable> make_rope_table(std::int32_t head_dim, double theta,
                                           bool interleaved = false);

class Transformer {
 public:
  // scope is how traces name it: "dec", "enc". from stands where "layers.0" is a child.
  Transformer(const char* scope, const TransformerConfig& config, const Binder& from,
              std::unique_ptr<RopeTable> rope, const TransformerNames& names = {},
              const Conditioning& conditioning = {});
  // x: [rows, hidden] of the packed batch, overwritten; returns it after the last layer. The caches
  // are not advanced.
  Tensor forward(std::span<const Stage> stages, Tensor x, std::span<const Span> batch,
                 const Trace& trace) const;

 private:
  void layer(Device& dev, std::int32_t index, const Tensor& x, const Spans& spans,
             const Trace& at) const;
  const char* scope_;
  TransformerConfig config_;
  std::vector<TransformerLayer> layers_;
  std::unique_ptr<RopeTable> rope_;
};

}  // namespace verbatim
