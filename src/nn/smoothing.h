// How the projections of a layer are scaled so that what enters them fits int8 better: every factor
// on a column has its counterpart in what makes the feature, so no op changes (SmoothQuant,
// arXiv:2211.10438). The norms' gains carry those of q, k, v and of gate, up; rows of up those of
// down, for silu(gate) * up is linear in up; rows of v those of o, for attention is linear in v.
#pragma once

#include <vector>

#include "nn/binder.h"

namespace verbatim {

struct TransformerConfig;
struct TransformerNames;

// Powers of two, each empty where what is read is not scaled.
struct LayerScales {
  std::vector<float> attn;   // [hidden]: what q, k and v read
  std::vector<float> value;  // [kv_heads * head_dim]: what v makes
  std::vector<float> ctx;    // [heads * head_dim]: the same for what o reads
  std::vector<float> mlp;    // [hidden]: what gate and up read
  std::vector<float> act;    // [intermediate]: what down reads
};

LayerScales layer_scales(const Binder& layer, const TransformerConfig& config,
                         const TransformerNames& names);

}  // namespace verbatim
