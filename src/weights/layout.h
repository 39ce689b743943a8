// How files store weights: what stands under a prefix, and how it becomes a Weight of a format.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weights/format.h"

namespace verbatim {

class Checkpoint;
class ThreadPool;
struct RawTensor;

// What a weight that was read refers to besides the mapping, until a device has placed it, and how
// it is read.
struct WeightStorage {
  ThreadPool* workers = nullptr;          // repack codes; null: the caller alone
  bool with_codes = true;                 // false: only sizes are wanted, codes stay zeros
  std::vector<Buffer> buffers;            // what had to be repacked
  std::vector<const RawTensor*> tensors;  // of the checkpoint that were read
};

struct WeightLayout {
  const char* name;  // "dense", "AWQ", ...
  // Does the checkpoint hold a weight in this layout under this prefix ("...q_proj")?
  bool (*recognise)(const Checkpoint& checkpoint, std::string_view prefix);
  // The weight [out, in] under the prefix; shapes and dtypes are checked by name against what is
  // expected. Throws kCorrupt or kUnsupported.
  Weight (*read)(const Checkpoint& checkpoint, std::string_view prefix, std::int32_t out,
                 std::int32_t in, WeightStorage& storage);
};

std::span<const WeightLayout* const> weight_layouts();  // weights/registry.cc

// The layout under the prefix; throws, naming what the checkpoint holds there, when none fits.
const WeightLayout& recognise_layout(const Checkpoint& checkpoint, std::string_view prefix);

}  // namespace verbatim
