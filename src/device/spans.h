// Which rows of a packed batch belong to which sequence.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace verbatim {

class KvSequence;
class ConvState;

struct Span {
  std::int32_t first_row = 0;  // where this sequence's rows begin in the packed batch
  std::int32_t rows = 0;
  std::int64_t position = 0;   // of the first row, as rope counts (the cache knows its own length)
  std::int32_t condition = 0;  // which row of a conditioned gain
  const char* phase = "";      // for traces only
  bool last = false;           // no more rows will follow: pad as the reference pads an end
  KvSequence* kv = nullptr;    // null where the stack has no attention
  ConvState* conv = nullptr;   // null: start from zeros and keep nothing
};

// A batch's spans.
struct Spans {
  std::span<const Span> host;
};

// The left context of every convolution of one encoder and one sequence: for each layer the last
// kernel - stride rows of its own input, zeros at first.
class ConvState {
 public:
  ConvState(Buffer storage, std::int64_t values) : storage_(std::move(storage)), values_(values) {}
  std::int64_t values() const { return values_; }
  float* at(std::int64_t offset, std::int64_t count) const {
    check(offset >= 0 && offset + count <= values_, "a layer's context lies inside the state");
    return static_cast<float*>(static_cast<void*>(storage_.data())) + offset;
  }

 private:
  Buffer storage_;
  std::int64_t values_ = 0;
};

}  // namespace verbatim
