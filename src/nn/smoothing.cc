// Factors of one layer.
#include "nn/smoothing.h"

#include <algorithm>

#include "nn/transformer.h"

namespace verbatim {
namespace {

std::vector<float> scales_of(const std::optional<ChannelRanges>& ranges) {
  if (!ranges) return {};
  return smoothing_scales(ranges->inputs, ranges->weights, ranges->format);
}

// Calls body(feature of o's input, feature of v's output) for all of the former: the query heads of
// a group read the values of one head.
template <typename Body>
void each_value(const TransformerConfig& config, const Body& body) {
  const auto dim = static_cast<std::size_t>(config.head_dim);
  const auto heads = static_cast<std::size_t>(config.num_attention_heads);
  const std::size_t group = heads / static_cast<std::size_t>(config.num_key_value_heads);
  for (std::size_t i = 0; i < heads * dim; ++i) body(i, i / dim / group * dim + i % dim);
}

// A value's factor is shared by all query heads that read it.
void scale_values(const std::optional<ChannelRanges>& ranges, const TransformerConfig& config,
                  LayerScales& made) {
  if (!ranges) return;
  const auto width = static_cast<std::size_t>(config.num_key_value_heads * config.head_dim);
  ChannelRanges shared{std::vector<float>(width), std::vector<float>(width), ranges->format};
  each_value(config, [&](std::size_t read, std::size_t value) {
    shared.inputs[value] = std::max(shared.inputs[value], ranges->inputs[read]);
    shared.weights[value] = std::max(shared.weights[value], ranges->weights[read]);
  });
  made.value = scales_of(shared);
  if (made.value.empty()) return;
  made.ctx.resize(ranges->inputs.size());
  each_value(config,
             [&](std::size_t read, std::size_t value) { made.ctx[read] = made.value[value]; });
}

}  // namespace

LayerScales layer_scales(const Binder& layer, const TransformerConfig& config,
                         const TransformerNames& names) {
  const std::int32_t hidden = config.hidden_size;
  const std::int32_t intermediate = config.intermediate_size;
  const std::int32_t q_width = config.num_attention_heads * config.head_dim;
  const std::int32_t kv_width = config.num_key_value_heads * config.head_dim;
  LayerScales made;
  made.attn = scales_of(
      layer.channel_ranges({{names.q, q_width}, {names.k, kv_width}, {names.v, kv_width}}, hidden));
  scale_values(layer.channel_ranges({{names.o, hidden}}, q_width), config, made);
  made.mlp = scales_of(
      layer.channel_ranges({{names.gate, intermediate}, {names.up, intermediate}}, hidden));
  made.act = scales_of(layer.channel_ranges({{names.down, hidden}}, intermediate));
  return made;
}

}  // namespace verbatim
