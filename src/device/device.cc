// The checked front of every device.
#include "device/device.h"

namespace verbatim {
namespace {

void check_rows(const Tensor& x) {
  check(x.dtype == DType::kF32 && x.cols > 0, "an op takes float rows");
}

void check_epilogue(const Epilogue& epilogue, std::int64_t rows, std::int64_t out) {
  check(epilogue.gain.empty() || (epilogue.gain.rows == 1 && epilogue.gain.cols == out),
        "a gain has one value per output");
  check(epilogue.residual.empty() ||
            (epilogue.residual.rows == rows && epilogue.residual.cols == out),
        "a residual has the result's shape");
}

void check_linear(const Tensor& x, const Linear& w) {
  check(w.weight != nullptr && x.cols == w.weight->in_features,
        "x has the weight's input features");
  check(w.bias.empty() || (w.bias.rows == 1 && w.bias.cols == w.weight->out_features),
        "a bias has one value per output");
}

void check_spans(const Tensor& x, const Spans& spans) {
  std::int64_t rows = 0;
  for (const Span& span : spans.host) {
    check(span.first_row == rows && span.rows >= 0, "spans lie end to end");
    rows += span.rows;
  }
  check(rows == x.rows, "the spans cover the batch");
}

std::int32_t strided_rows(const Span& span, std::int32_t stride) {
  check(span.last || span.rows % stride == 0, "only the last rows of a sequence may be ragged");
  return (span.rows + stride - 1) / stride;
}

}  // namespace

Spans Device::spans(std::span<const Span> batch) {
  strided_used_ = 0;
  return {batch};
}

Spans Device::strided(const Spans& spans, std::int32_t stride) {
  if (strided_used_ == strided_.size()) strided_.emplace_back();
  std::vector<Span>& made = strided_[strided_used_++];
  made.assign(spans.host.begin(), spans.host.end());
  std::int32_t first = 0;
  for (Span& span : made) {
    check(span.position % stride == 0, "a stride begins at a multiple of itself");
    span.rows = strided_rows(span, stride);
    span.first_row = first;
    span.position /= stride;
    first += span.rows;
  }
  return {made};
}

Tensor Device::embed(const DeviceWeight& table, std::span<const RowInput> rows) {
  for (const RowInput& row : rows) {
    check(row.token < table.out_features, "a token has a row in the table");
    check(row.token >= 0 || !row.audio.empty(), "a row has a token or audio");
    check(row.audio.empty() || row.audio.cols == table.in_features, "audio has the table's width");
  }
  const Tensor out =
      arena_.take(static_cast<std::int64_t>(rows.size()), table.in_features, DType::kF32);
  do_embed(table, rows, out);
  return out;
}

Tensor Device::rms_norm(const Tensor& x, const Tensor& gain, float eps) {
  check_rows(x);
  check(gain.rows == 1 && gain.cols == x.cols, "a norm has one gain per feature");
  const Tensor out = arena_.take(x.rows, x.cols, DType::kF32);
  do_rms_norm(x, nullptr, gain, eps, out);
  return out;
}

Tensor Device::rms_norm(const Tensor& x, const Spans& spans, const Tensor& gains, float eps) {
  check_rows(x);
  check_spans(x, spans);
  check(gains.cols == x.cols, "a norm has one gain per feature");
  for (const Span& span : spans.host) {
    check(span.condition >= 0 && span.condition < gains.rows, "a span's condition has its gains");
  }
  const Tensor out = arena_.take(x.rows, x.cols, DType::kF32);
  do_rms_norm(x, &spans, gains, eps, out);
  return out;
}

Tensor Device::linear(const Tensor& x, const Linear& w, const Epilogue& epilogue) {
  check_rows(x);
  check_linear(x, w);
  check_epilogue(epilogue, x.rows, w.weight->out_features);
  const Tensor out = arena_.take(x.rows, w.weight->out_features, DType::kF32);
  const Linear* one = &w;
  do_linear(x, std::span<const Linear* const>(&one, 1), std::span<const Tensor>(&out, 1), epilogue);
  return out;
}

void Device::project_all(const Tensor& x, std::span<const Linear* const> w, std::span<Tensor> out) {
  check_rows(x);
  for (std::size_t i = 0; i < w.size(); ++i) {
    check_linear(x, *w[i]);
    out[i] = arena_.take(x.rows, w[i]->weight->out_features, DType::kF32);
  }
  do_linear(x, w, out, {});
}

Tensor Device::swiglu(const Tensor& gate, const Tensor& up) {
  check_rows(gate);
  check(gate.rows == up.rows && gate.cols == up.cols, "gate and up have one shape");
  const Tensor out = arena_.take(gate.rows, gate.cols, DType::kF32);
  do_swiglu(gate, up, out);
  return out;
}

void Device::add(const Tensor& x, const Tensor& y) {
  check_rows(x);
  check(x.rows == y.rows && x.cols == y.cols, "the summands have one shape");
  do_add(x, y);
}

void Device::rope(const Tensor& x, const Spans& spans, const RopeTable& table) {
  check_rows(x);
  check_spans(x, spans);
  const auto head_dim = 2 * static_cast<std::int64_t>(table.inv_freq.size());
  check(head_dim > 0 && x.cols % head_dim == 0, "the row is whole heads");
  do_rope(x, spans, table);
}

Tensor Device::pick(const Tensor& x, std::span<const std::int32_t> rows) {
  check_rows(x);
  for (const std::int32_t row : rows) check(row >= 0 && row < x.rows, "a picked row exists");
  const Tensor out = arena_.take(static_cast<std::int64_t>(rows.size()), x.cols, DType::kF32);
  do_pick(x, rows, out);
  return out;
}

Tensor Device::best(const Tensor& x, const Linear& head) {
  check_rows(x);
  check_linear(x, head);
  const Tensor out = arena_.take(x.rows, 1, DType::kI32);
  const ArenaScope scratch(arena_);
  do_best(x, head, arena_.take(x.rows, head.weight->out_features, DType::kF32), out);
  return out;
}

Tensor Device::conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                      const Epilogue& epilogue) {
  check_rows(x);
  check_spans(x, spans);
  const DeviceWeight& weight = *conv.linear.weight;
  const bool depthwise = conv.groups != 1;
  check(conv.groups == 1 || (conv.groups == conv.in_channels && conv.stride == 1 &&
                             weight.out_features == conv.in_channels),
        "a grouped convolution is depthwise with stride 1");
  check(x.cols == conv.in_channels && x.stride == x.cols, "x is packed rows of the input channels");
  check(weight.in_features == conv.kernel * (depthwise ? 1 : conv.in_channels),
        "the weight has kernel times channels columns");
  check(conv.kernel >= conv.stride && conv.stride >= 1, "a causal kernel covers its stride");
  std::int64_t rows = 0;
  for (const Span& span : spans.host) rows += strided_rows(span, conv.stride);
  check_epilogue(epilogue, rows, weight.out_features);
  const Tensor out = arena_.take(rows, weight.out_features, DType::kF32);
  do_conv1d(x, spans, conv, epilogue, out);
  return out;
}

Tensor Device::attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                         const AttentionShape& shape) {
  check_rows(q);
  check_spans(q, spans);
  check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
        "query heads share KV heads evenly");
  check(q.cols == std::int64_t{shape.heads} * shape.head_dim, "q is heads side by side");
  check(k.rows == q.rows && v.rows == q.rows && k.cols == v.cols &&
            k.cols == std::int64_t{shape.kv_heads} * shape.head_dim,
        "k and v are KV heads side by side");
  for (const Span& span : spans.host) check(span.kv != nullptr, "attention has a cache per span");
  const Tensor out = arena_.take(q.rows, q.cols, DType::kF32);
  const ArenaScope inside(arena_);
  const Tensor scratch =
      arena_.take(1, static_cast<std::int64_t>(attention_scratch_bytes(spans, shape)), DType::kI8);
  do_attention(q, k, v, spans, shape, scratch, out);
  return out;
}

std::unique_ptr<Device> open_device(const std::string& name, const DeviceOptions& options) {
  std::string known;
  for (const DeviceFactory* factory : device_factories()) {
    if (factory->count() > 0 && name == factory->name) return factory->open(0, options);
    append_listed(known, factory->name);
  }
  fail(Code::kNotFound, "device '%s' is not here; known are %s", name.c_str(), known.c_str());
}

}  // namespace verbatim
