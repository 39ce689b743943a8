// The language model of a family: token table, transformer, final norm and head, and the decode
// pass over them that all families share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/trace.h"
#include "models/session.h"
#include "nn/transformer.h"

namespace verbatim {

struct TextDecoder {
  const DeviceWeight* embed_tokens = nullptr;  // [vocab, hidden]
  std::unique_ptr<Transformer> transformer;
  Tensor norm;  // [1, hidden]
  float rms_norm_eps = 0;
  Linear lm_head;  // [vocab, hidden]

  // Runs the batch's rows, advances the caches and fills in tokens and logits.
  void decode(std::span<const Stage> stages, DecodeBatch& batch, const Trace& trace) const;

 private:
  // What the rows that want something are answered with: tokens or logits.
  void answer(Device& dev, const Tensor& x, DecodeBatch& batch, const Trace& trace) const;
  void show_tokens(Device& dev, const DecodeBatch& batch, const Trace& here) const;
};

}  // namespace verbatim
