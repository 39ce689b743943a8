// Causal convolution on the CPU. Output frame t reads input rows [t s - P, t s - P + k), P = k - s:
// rows before 0 come from the kept context, rows behind the end are zeros. Frames that need neither
// are read straight from x; as rows overlap, a dense convolution is a matrix product over a view.
// Reference: vibevoice/modular/modular_vibevoice_tokenizer.py, SConv1d.
#include <algorithm>
#include <cstring>

#include "cpu/cpu_device.h"

namespace verbatim {

struct CpuDevice::ConvSpan {
  const Conv1d* conv = nullptr;
  const Epilogue* epilogue = nullptr;
  const CpuWeight* weight = nullptr;
  const float* x = nullptr;  // the span's rows
  std::int64_t rows = 0;
  std::int64_t frames = 0;
  std::int64_t first_frame = 0;  // of the span in the packed result
  float* context = nullptr;      // kernel - stride rows, or null: zeros
  Tensor out;
};

void CpuDevice::run_frames(const ConvSpan& span, const float* x, std::int64_t first,
                           std::int64_t frames) {
  if (frames <= 0) return;
  const Conv1d& conv = *span.conv;
  const std::int64_t row = span.first_frame + first;
  if (conv.groups == 1) {
    LinearCall call = linear_call(conv.linear, *span.epilogue, span.out, row);
    call.x = x;
    call.x_stride = std::int64_t{conv.stride} * conv.in_channels;
    call.rows = frames;
    run_linear(call, *span.weight->kernel);
    return;
  }
  const Tensor& gain = span.epilogue->gain;
  const Tensor& residual = span.epilogue->residual;
  const float* bias = conv.linear.bias.empty() ? nullptr : conv.linear.bias.f32();
  check(span.epilogue->activation == Activation::kNone,
        "a depthwise convolution has no activation");
  const std::int64_t worth = std::max<std::int64_t>(64, (1 << 14) / conv.in_channels);
  pool_.parallel_for(frames, worth, [&](std::int64_t from, std::int64_t to, int) {
    DepthwiseCall call;
    call.packed = span.weight->packed.data();
    call.channels = conv.in_channels;
    call.kernel = conv.kernel;
    call.x = x + from * conv.in_channels;
    call.x_stride = conv.in_channels;
    call.rows = to - from;
    call.y = span.out.f32() + (row + from) * span.out.stride;
    call.y_stride = span.out.stride;
    call.bias = bias;
    call.gain = gain.empty() ? nullptr : gain.f32();
    call.residual = residual.empty() ? nullptr : residual.f32() + (row + from) * residual.stride;
    call.residual_stride = residual.stride;
    table_.depthwise(call);
  });
}

void CpuDevice::run_edge(const ConvSpan& span, std::int64_t first, std::int64_t frames) {
  if (frames <= 0) return;
  const Conv1d& conv = *span.conv;
  const std::int64_t channels = conv.in_channels;
  const std::int64_t begin = first * conv.stride - conv.context();
  const std::int64_t end = begin + (frames - 1) * conv.stride + conv.kernel;
  edge_.assign(static_cast<std::size_t>((end - begin) * channels), 0.0F);
  for (std::int64_t row = begin; row < std::min(end, span.rows); ++row) {
    const float* from = row >= 0                  ? span.x + row * channels
                        : span.context != nullptr ? span.context + (row + conv.context()) * channels
                                                  : nullptr;
    if (from == nullptr) continue;
    std::memcpy(edge_.data() + (row - begin) * channels, from,
                static_cast<std::size_t>(channels) * sizeof(float));
  }
  run_frames(span, edge_.data(), first, frames);
}

void CpuDevice::keep_context(const ConvSpan& span) {
  const std::int64_t context = span.conv->context();
  const std::int64_t channels = span.conv->in_channels;
  if (span.context == nullptr || context == 0) return;
  const std::int64_t kept = std::max<std::int64_t>(0, context - span.rows);
  const std::int64_t fresh = context - kept;
  std::memmove(span.context, span.context + (context - kept) * channels,
               static_cast<std::size_t>(kept * channels) * sizeof(float));
  std::memcpy(span.context + kept * channels, span.x + (span.rows - fresh) * channels,
              static_cast<std::size_t>(fresh * channels) * sizeof(float));
}

void CpuDevice::do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                          const Epilogue& epilogue, const Tensor& out) {
  std::int64_t first_frame = 0;
  for (const Span& each : spans.host) {
    ConvSpan span;
    span.conv = &conv;
    span.epilogue = &epilogue;
    span.weight = static_cast<const CpuWeight*>(conv.linear.weight);
    span.x = x.f32() + std::int64_t{each.first_row} * x.stride;
    span.rows = each.rows;
    span.frames = (each.rows + conv.stride - 1) / conv.stride;
    span.first_frame = first_frame;
    span.out = out;
    if (each.conv != nullptr) {
      span.context = each.conv->at(conv.state, std::int64_t{conv.context()} * conv.in_channels);
    }
    // Frames [0, front) need context, frames [end, frames) need zeros behind the last row.
    const std::int64_t front =
        std::min(span.frames, (std::int64_t{conv.context()} + conv.stride - 1) / conv.stride);
    const std::int64_t whole = span.rows + conv.context() - conv.kernel;
    const std::int64_t end = std::max(
        front, whole < 0 ? std::int64_t{0} : std::min(span.frames, whole / conv.stride + 1));
    run_edge(span, 0, front);
    run_frames(span, span.x + (front * conv.stride - conv.context()) * conv.in_channels, front,
               end - front);
    run_edge(span, end, span.frames - end);
    keep_context(span);
    first_frame += span.frames;
  }
}

}  // namespace verbatim
