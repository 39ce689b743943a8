// Makes a dense checkpoint into one that is stored quantised: the door of `verbatim quantize`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/engine.h"

namespace verbatim {

struct QuantizedCheckpoint {
  std::string layout;            // who reads it: "compressed-tensors"
  std::size_t weights = 0;       // that were made anew
  std::size_t files = 0;         // of tensors
  std::uint64_t read_bytes = 0;  // of tensors, there and here
  std::uint64_t written_bytes = 0;
};

// Writes `output`, a new or an empty folder, whole or not at all: the checkpoint options.model with
// the weights that options.quant.decoder would make at load stored as they were made, to the bit,
// all other tensors and the small files beside them as they are. Memory holds one weight at a time;
// options.loading is told the share that was read. Throws kInvalidArgument naming the flag, folder
// or tensor (nothing to quantise, a scheme that no checkpoint stores, a checkpoint that is
// quantised already, an output that holds files or lies inside the model), kExhausted where the
// disk has no room, kIo, kCancelled, and everything that loading the checkpoint would throw.
QuantizedCheckpoint quantize_checkpoint(const EngineOptions& options, const std::string& output);

}  // namespace verbatim
