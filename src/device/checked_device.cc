// The second device works on copies; the first difference is an error.
#include "device/checked_device.h"

#include <algorithm>
#include <cstring>

namespace verbatim {
namespace {

class CheckedWeight final : public DeviceWeight {
 public:
  std::unique_ptr<const DeviceWeight> first;
  std::unique_ptr<const DeviceWeight> second;
};

const CheckedWeight& both(const DeviceWeight& weight) {
  return static_cast<const CheckedWeight&>(weight);
}

std::string value_text(const Tensor& x, std::int64_t row, std::int64_t column) {
  if (x.dtype == DType::kI32)
    return std::to_string(x.row<std::int32_t>(row)[static_cast<std::size_t>(column)]);
  return formatted("%.9g",
                   static_cast<double>(x.row<float>(row)[static_cast<std::size_t>(column)]));
}

void compare(const char* op, const std::string& weight, const Tensor& a, const Tensor& b) {
  const auto size = static_cast<std::size_t>(dtype_bytes(a.dtype));
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const std::byte* x = a.data + r * a.stride * dtype_bytes(a.dtype);
    const std::byte* y = b.data + r * b.stride * dtype_bytes(b.dtype);
    if (std::memcmp(x, y, static_cast<std::size_t>(a.cols) * size) == 0) continue;
    for (std::int64_t c = 0; c < a.cols; ++c) {
      const std::size_t at = static_cast<std::size_t>(c) * size;
      if (std::memcmp(x + at, y + at, size) == 0) continue;
      fail(Code::kDevice,
           "%s %s: row %lld, column %lld is %s on the first device and %s on the second", op,
           weight.c_str(), static_cast<long long>(r), static_cast<long long>(c),
           value_text(a, r, c).c_str(), value_text(b, r, c).c_str());
    }
  }
}

void copy_rows(const Tensor& to, const Tensor& from) {
  for (std::int64_t r = 0; r < from.rows; ++r) {
    std::memcpy(to.data + r * to.stride * dtype_bytes(to.dtype),
                from.data + r * from.stride * dtype_bytes(from.dtype),
                static_cast<std::size_t>(from.cols * dtype_bytes(from.dtype)));
  }
}

}  // namespace

std::unique_ptr<DeviceWeight> CheckedDevice::prepare(const Weight& weight, Use use) {
  auto made = std::make_unique<CheckedWeight>();
  made->first = first_->prepare(weight, use);
  made->second = second_.prepare(weight, use);
  made->out_features = weight.out_features;
  made->in_features = weight.in_features;
  made->format = weight.format;
  made->bytes = made->first->bytes + made->second->bytes;
  made->projection_bytes = made->first->projection_bytes + made->second->projection_bytes;
  made->best_bytes = made->first->best_bytes + made->second->best_bytes;
  return made;
}

std::size_t CheckedDevice::weight_bytes(const Weight& weight, Use use) const {
  return first_->weight_bytes(weight, use) + second_.weight_bytes(weight, use);
}

std::size_t CheckedDevice::attention_scratch_bytes(const Spans& spans,
                                                   const AttentionShape& shape) const {
  return std::max(first_->attention_scratch_bytes(spans, shape),
                  second_.attention_scratch_bytes(spans, shape));
}

Tensor CheckedDevice::twin(std::size_t index, const Tensor& of) {
  if (twins_.size() <= index) twins_.resize(index + 1);
  twins_[index].resize(static_cast<std::size_t>(of.rows * of.cols * dtype_bytes(of.dtype)));
  Tensor made = of;
  made.data = twins_[index].data();
  made.stride = of.cols;
  return made;
}

void CheckedDevice::do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                             const Tensor& out) {
  first_->do_embed(*both(table).first, rows, out);
  const Tensor other = twin(0, out);
  second_.do_embed(*both(table).second, rows, other);
  compare("embed", table.name, out, other);
}

void CheckedDevice::do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                                const Tensor& out) {
  first_->do_rms_norm(x, spans, gains, eps, out);
  const Tensor other = twin(0, out);
  second_.do_rms_norm(x, spans, gains, eps, other);
  compare("rms_norm", "", out, other);
}

void CheckedDevice::do_linear(const Tensor& x, std::span<const Linear* const> w,
                              std::span<const Tensor> out, const Epilogue& epilogue) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    Linear first = *w[i];
    Linear second = *w[i];
    first.weight = both(*w[i]->weight).first.get();
    second.weight = both(*w[i]->weight).second.get();
    const Linear* one = &first;
    first_->do_linear(x, std::span<const Linear* const>(&one, 1), out.subspan(i, 1), epilogue);
    one = &second;
    const Tensor other = twin(i, out[i]);
    second_.do_linear(x, std::span<const Linear* const>(&one, 1),
                      std::span<const Tensor>(&other, 1), epilogue);
    compare("linear", w[i]->weight->name, out[i], other);
  }
}

void CheckedDevice::do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) {
  first_->do_swiglu(gate, up, out);
  const Tensor other = twin(0, out);
  second_.do_swiglu(gate, up, other);
  compare("swiglu", "", out, other);
}

void CheckedDevice::do_add(const Tensor& x, const Tensor& y) {
  const Tensor other = twin(0, x);
  copy_rows(other, x);
  first_->do_add(x, y);
  second_.do_add(other, y);
  compare("add", "", x, other);
}

void CheckedDevice::do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) {
  const Tensor other = twin(0, x);
  copy_rows(other, x);
  first_->do_rope(x, spans, table);
  second_.do_rope(other, spans, table);
  compare("rope", "", x, other);
}

void CheckedDevice::do_pick(const Tensor& x, std::span<const std::int32_t> rows,
                            const Tensor& out) {
  first_->do_pick(x, rows, out);
  const Tensor other = twin(0, out);
  second_.do_pick(x, rows, other);
  compare("pick", "", out, other);
}

void CheckedDevice::do_best(const Tensor& x, const Linear& head, const Tensor& logits,
                            const Tensor& out) {
  Linear first = head;
  Linear second = head;
  first.weight = both(*head.weight).first.get();
  second.weight = both(*head.weight).second.get();
  first_->do_best(x, first, logits, out);
  const Tensor other = twin(0, out);
  second_.do_best(x, second, logits, other);
  compare("best", head.weight->name, out, other);
}

void CheckedDevice::do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                              const Epilogue& epilogue, const Tensor& out) {
  // The second device starts from the context as it was and leaves it as the first one does.
  std::vector<std::vector<float>> before;
  const std::int64_t values = std::int64_t{conv.context()} * conv.in_channels;
  for (const Span& span : spans.host) {
    before.emplace_back();
    if (span.conv == nullptr) continue;
    const float* context = span.conv->at(conv.state, values);
    before.back().assign(context, context + values);
  }
  Conv1d first = conv;
  Conv1d second = conv;
  first.linear.weight = both(*conv.linear.weight).first.get();
  second.linear.weight = both(*conv.linear.weight).second.get();
  first_->do_conv1d(x, spans, first, epilogue, out);
  std::vector<std::vector<float>> after;
  for (std::size_t i = 0; i < before.size(); ++i) {
    after.emplace_back();
    if (before[i].empty()) continue;
    float* context = spans.host[i].conv->at(conv.state, values);
    after.back().assign(context, context + values);
    std::memcpy(context, before[i].data(), before[i].size() * sizeof(float));
  }
  const Tensor other = twin(0, out);
  second_.do_conv1d(x, spans, second, epilogue, other);
  compare("conv1d", conv.linear.weight->name, out, other);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].empty()) continue;
    compare("conv1d context", conv.linear.weight->name, host_rows(after[i], 1),
            host_rows({spans.host[i].conv->at(conv.state, values), after[i].size()}, 1));
  }
}

void CheckedDevice::do_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Spans& spans, const AttentionShape& shape,
                                 const Tensor& scratch, const Tensor& out) {
  first_->do_attention(q, k, v, spans, shape, scratch, out);
  const Tensor other = twin(0, out);
  second_.do_attention(q, k, v, spans, shape, scratch, other);
  compare("attention", "", out, other);
}

}  // namespace verbatim
