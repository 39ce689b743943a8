// What the decoder is told about its delay: a time embedding of the number of delay tokens, and a
// small network per layer that makes factors of the second norm out of it. Section 4.1 of the
// specification; reference: transformers modular_voxtral_realtime.py, VoxtralRealtimeTimeEmbedding
// and VoxtralRealtimeTextAdaRmsNorm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weights/format.h"

namespace verbatim::voxtral {

// [cos(d u_0) ... sin(d u_0) ...], u_i = 10000^(-i / (hidden / 2)); hidden is even.
std::vector<float> time_embedding(std::int32_t delay_tokens, std::int32_t hidden);

// 1 + up gelu(down t): down [bottleneck, hidden], up [hidden, bottleneck]. activations: what
// becomes of both inputs; rounded to int8 they are rounded here as everywhere.
std::vector<float> delay_scale(std::span<const float> embedding, std::span<const float> down,
                               std::span<const float> up,
                               Activations activations = Activations::kFloat);

}  // namespace verbatim::voxtral
