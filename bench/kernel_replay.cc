// Inputs are one buffer for all calls, so that nothing but the kernels runs.
#include "bench/kernel_replay.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "kv/pool.h"

namespace verbatim {
namespace {

std::int64_t input_cols(const KernelCall& call) {
  if (call.attention) return std::int64_t{call.attention->heads} * call.attention->head_dim;
  if (call.conv) return call.conv->in_channels;
  return call.weights[0].weight->in_features;
}

// The shape of the residual, which is that of the result.
std::int64_t added_values(const KernelCall& call) {
  const Tensor& added = call.epilogue.residual;
  return added.empty() ? 0 : added.rows * added.cols;
}

void set_length(KvSequence& kv, std::int64_t length) {
  if (length < kv.length()) kv.truncate(length);
  kv.advance(length - kv.length());
}

}  // namespace

void KernelReplay::fit(std::span<const KernelCall> calls) {
  std::int64_t most = static_cast<std::int64_t>(values_.size());
  for (const KernelCall& call : calls)
    most = std::max({most, call.rows * input_cols(call), added_values(call)});
  values_.resize(static_cast<std::size_t>(most));
  // Of ordinary size, none of them zero.
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = (static_cast<float>(i * 37 % 64) - 31.5F) / 32.0F;
}

Tensor KernelReplay::rows(std::int64_t count, std::int64_t cols) const {
  return host_rows(std::span(values_).first(static_cast<std::size_t>(count * cols)), count);
}

ReplayTimes KernelReplay::run(std::span<const KernelCall> calls) {
  ReplayTimes times;
  Clock::time_point start = Clock::now();
  for (const KernelCall& call : calls) {
    run(call);
    const Clock::time_point end = Clock::now();
    const double spent = std::chrono::duration<double>(end - start).count();
    (call.attention ? times.attention_s : times.projections_s) += spent;
    start = end;
  }
  return times;
}

void KernelReplay::run(const KernelCall& call) {
  const ArenaScope scratch(device_.arena());
  const Tensor x = rows(call.rows, input_cols(call));
  const Spans spans{call.spans};
  if (call.attention) {
    for (std::size_t i = 0; i < call.spans.size(); ++i)
      set_length(*call.spans[i].kv, call.lengths[i]);
    const Tensor kv =
        rows(call.rows, std::int64_t{call.attention->kv_heads} * call.attention->head_dim);
    device_.attention(x, kv, kv, spans, *call.attention);
    return;
  }
  if (!call.conv) {
    project(call);
    return;
  }
  Epilogue epilogue = call.epilogue;
  const Tensor& added = call.epilogue.residual;
  if (!added.empty()) epilogue.residual = rows(added.rows, added.cols);
  device_.conv1d(x, spans, *call.conv, epilogue);
}

void KernelReplay::project(const KernelCall& call) {
  const std::vector<Linear>& w = call.weights;
  const Tensor x = rows(call.rows, input_cols(call));
  if (call.is_best) {
    device_.best(x, w[0]);
  } else if (w.size() == 3) {
    device_.project(x, w[0], w[1], w[2]);
  } else if (w.size() == 2) {
    device_.project(x, w[0], w[1]);
  } else {
    check(w.size() == 1, "at most three weights are projected together");
    Epilogue epilogue = call.epilogue;
    const Tensor& added = call.epilogue.residual;
    if (!added.empty()) epilogue.residual = rows(added.rows, added.cols);
    device_.linear(x, w[0], epilogue);
  }
}

}  // namespace verbatim
