// What a model will take, decided before a byte is placed: the context, the KV pool, the arena. The
// answer comes from running the very forward pass on a DryDevice.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "engine/engine.h"
#include "models/model.h"

namespace verbatim {

class Checkpoint;

struct Placement {
  ModelInfo info;
  int codec = 0;
  std::int64_t context = 0;  // positions one session may reach
  std::int64_t held = 0;     // of them a slot's cache holds at once; less where a window slides
  std::int32_t pages = 0;    // of the pool, all slots together
  std::int64_t encoder_held = 0;   // positions of a slot's encoder cache
  std::int32_t encoder_pages = 0;  // of its pool, all slots together; 0: no such cache
  MemoryUse memory;
  double kv_bytes_per_minute = 0;
};

// Throws kExhausted with the sum when options.memory_limit_bytes is too small, and everything that
// loading the checkpoint would throw.
Placement place(const EngineOptions& options, const Checkpoint& checkpoint, const Family& family,
                const Device& device);

LoadOptions load_options(const EngineOptions& options);

// Threads that compute: options.threads, or one for each physical core.
int thread_count(const EngineOptions& options);

}  // namespace verbatim
