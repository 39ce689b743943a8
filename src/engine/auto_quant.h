// What --quant auto makes of a checkpoint on this machine.
#pragma once

#include "engine/engine.h"
#include "models/model.h"

namespace verbatim {

class Checkpoint;

// options.quant, or where options.auto_quant is set the first that fits: int8, nf4, int4 in the
// decoder, all with float activations. It fits when all that the engine takes is within
// options.memory_limit_bytes, or else within what the machine has available. A checkpoint that is
// quantised stays as it is. Throws kExhausted with the last sum when nothing fits, and what place()
// throws.
Quantization chosen_quantization(const EngineOptions& options, const Checkpoint& checkpoint,
                                 const Family& family, const Device& device);

// "int8", "w8a8 and in the encoder int8", "as stored": for people.
std::string quantization_text(const Quantization& quant);

}  // namespace verbatim
