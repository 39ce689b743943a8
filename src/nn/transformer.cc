// One forward pass for prompts, chunks and single steps alike.
#include "nn/transformer.h"

#include "base/math.h"
#include "nn/smoothing.h"

namespace verbatim {

namespace {

// The norm's gain times every condition's factors, [conditions, hidden], divided where divisors are
// given.
Tensor conditioned(const Binder& norm, std::int32_t hidden, std::vector<float> factors,
                   std::span<const float> divisors) {
  const std::vector<float> gain = norm.values("weight", {hidden});
  for (std::size_t i = 0; i < factors.size(); ++i) {
    factors[i] *= gain[i % gain.size()];
    if (!divisors.empty()) factors[i] /= divisors[i % gain.size()];
  }
  return norm.place(factors, hidden);
}

}  // namespace

std::unique_ptr<RopeTable> make_rope_table(std::int32_t head_dim, double theta, bool interleaved) {
  auto table = std::make_unique<RopeTable>();
  table->interleaved = interleaved;
  for (std::int32_t i = 0; i < head_dim / 2; ++i) {
    // The reference raises theta to a float32 power and divides in float32.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    const float power = static_cast<float>(math_pow(theta, static_cast<double>(exponent)));
    table->inv_freq.push_back(1.0F / power);
  }
  return table;
}

Transformer::Transformer(const char* scope, const TransformerConfig& config, const Binder& from,
                         std::unique_ptr<RopeTable> rope, const TransformerNames& names,
                         const Conditioning& conditioning)
    : scope_(scope), config_(config), rope_(std::move(rope)) {
  const std::int32_t hidden = config.hidden_size;
  const std::int32_t q_width = config.num_attention_heads * config.head_dim;
  const std::int32_t kv_width = config.num_key_value_heads * config.head_dim;
  for (std::int32_t i = 0; i < config.num_hidden_layers; ++i) {
    const Binder here = from.at("layers", i);
    const LayerScales scales = layer_scales(here, config, names);
    TransformerLayer w;
    w.input_norm = here.at(names.input_norm).vector("weight", hidden, scales.attn);
    w.q = here.linear(names.q, q_width, hidden, config.q_bias, {scales.attn, {}});
    w.k = here.linear(names.k, kv_width, hidden, config.k_bias, {scales.attn, {}});
    w.v = here.linear(names.v, kv_width, hidden, config.v_bias, {scales.attn, scales.value});
    w.o = here.linear(names.o, hidden, q_width, config.o_bias, {scales.ctx, {}});
    const Binder post_norm = here.at(names.post_norm);
    w.post_norm = conditioning ? conditioned(post_norm, hidden, conditioning(here), scales.mlp)
                               : post_norm.vector("weight", hidden, scales.mlp);
    w.gate = here.linear(names.gate, config.intermediate_size, hidden, false, {scales.mlp, {}});
    w.up = here.linear(names.up, config.intermediate_size, hidden, false, {scales.mlp, scales.act});
    w.down = here.linear(names.down, hidden, config.intermediate_size, config.down_bias,
                         {scales.act, {}});
    layers_.push_back(w);
  }
}

Tensor Transformer::forward(std::span<const Stage> stages, Tensor x, std::span<const Span> batch,
                            const Trace& trace) const {
  for (const Stage& stage : stages) {
    Device& dev = *stage.device;
    x = dev.receive(x);
    const Spans spans = dev.spans(batch);
    const Trace here = trace.on(dev, spans);
    for (std::int32_t i = stage.first_layer; i < stage.end_layer; ++i) {
      const ArenaScope scratch(dev.arena());
      layer(dev, i, x, spans, here.at(scope_, i));
    }
  }
  return x;
}

void Transformer::layer(Device& dev, std::int32_t index, const Tensor& x, const Spans& spans,
                        const Trace& at) const {
  const TransformerLayer& w = layers_[static_cast<std::size_t>(index)];

  const Tensor a = dev.rms_norm(x, w.input_norm, config_.rms_norm_eps);
  at("norm1", a);
  const auto [q, k, v] = dev.project(a, w.q, w.k, w.v);
  at("q", q);
  at("k", k);
  at("v", v);
  dev.rope(q, spans, *rope_);
  dev.rope(k, spans, *rope_);
  at("q_rope", q);
  at("k_rope", k);
  const Tensor ctx = dev.attention(q, k, v, spans,
                                   {.layer = index,
                                    .heads = config_.num_attention_heads,
                                    .kv_heads = config_.num_key_value_heads,
                                    .head_dim = config_.head_dim,
                                    .window = config_.sliding_window});
  at("ctx", ctx);
  const Tensor attn_out = dev.linear(ctx, w.o);
  at("attn_out", attn_out);
  dev.add(x, attn_out);
  at("res1", x);

  const Tensor m = dev.rms_norm(x, spans, w.post_norm, config_.rms_norm_eps);
  at("norm2", m);
  const auto [gate, up] = dev.project(m, w.gate, w.up);
  at("gate", gate);
  at("up", up);
  const Tensor act = dev.swiglu(gate, up);
  at("act", act);
  const Tensor down = dev.linear(act, w.down);
  at("down", down);
  dev.add(x, down);
  at("out", x);
}

}  // namespace verbatim
