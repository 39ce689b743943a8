// The least that a pass must read and multiply.
#include "bench/work_device.h"

#include <algorithm>

#include "kv/pool.h"

namespace verbatim {
namespace {

constexpr std::size_t kArenaAddresses = std::size_t{1} << 60;

// "layers.3.attention.wq" -> "layers.*.attention.wq"
std::string without_numbers(const std::string& name) {
  std::string text;
  bool in_number = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    in_number = digit && (in_number || i == 0 || name[i - 1] == '.');
    if (!in_number) text += name[i];
    if (in_number && (text.empty() || text.back() != '*')) text += '*';
  }
  return text;
}

}  // namespace

WorkDevice::WorkDevice(const Device& real) : real_(real) {
  set_arena(Arena(reserve_addresses(kArenaAddresses)));
}

Work WorkDevice::total() const {
  Work sum;
  for (const auto& [key, work] : table_) sum.add(work);
  return sum;
}

std::unique_ptr<DeviceWeight> WorkDevice::prepare(const Weight&, Use) {
  fail(Code::kInternal, "a device that counts holds no weights");
}

void WorkDevice::clear() {
  table_.clear();
  calls_.clear();
}

void WorkDevice::count(const char* op, const DeviceWeight* weight, const Work& work) {
  table_[{op, weight != nullptr ? without_numbers(weight->name) : ""}].add(work);
}

Work WorkDevice::projection(const DeviceWeight& weight, std::int64_t rows) {
  Work work;
  work.bytes = static_cast<double>(weight.projection_bytes);
  const double products = static_cast<double>(rows) * weight.out_features * weight.in_features;
  const bool is_int8 = weight.format->activations != Activations::kFloat;
  (is_int8 ? work.byte_products : work.multiply_adds) = products;
  return work;
}

void WorkDevice::do_linear(const Tensor& x, std::span<const Linear* const> w,
                           std::span<const Tensor>, const Epilogue& epilogue) {
  KernelCall& call = calls_.emplace_back();
  call.rows = x.rows;
  for (const Linear* each : w) {
    count("linear", w[0]->weight, projection(*each->weight, x.rows));
    call.weights.push_back(*each);
  }
  call.epilogue = epilogue;
}

void WorkDevice::do_best(const Tensor& x, const Linear& head, const Tensor&, const Tensor&) {
  Work work = projection(*head.weight, x.rows);
  // Where less than the head is read, it is a copy in int8.
  if (head.weight->best_bytes < head.weight->projection_bytes)
    work.byte_products += std::exchange(work.multiply_adds, 0);
  work.bytes = static_cast<double>(head.weight->best_bytes);
  count("best", head.weight, work);
  KernelCall& call = calls_.emplace_back();
  call.rows = x.rows;
  call.weights.push_back(head);
  call.is_best = true;
}

void WorkDevice::do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                           const Epilogue& epilogue, const Tensor& out) {
  count("conv1d", conv.linear.weight, projection(*conv.linear.weight, out.rows));
  KernelCall& call = calls_.emplace_back();
  call.rows = x.rows;
  call.conv = conv;
  call.epilogue = epilogue;
  call.spans.assign(spans.host.begin(), spans.host.end());
}

void WorkDevice::do_attention(const Tensor& q, const Tensor&, const Tensor&, const Spans& spans,
                              const AttentionShape& shape, const Tensor&, const Tensor&) {
  Work work;
  for (const Span& span : spans.host) {
    const std::int64_t first = span.kv->length();
    const std::int64_t window = shape.window > 0 ? shape.window : first + span.rows;
    double seen = 0;  // by all rows together
    for (std::int64_t p = first; p < first + span.rows; ++p)
      seen += static_cast<double>(std::min(p + 1, window));
    work.multiply_adds += 2 * seen * shape.heads * shape.head_dim;
    const std::size_t page =
        kv_page_bytes({.layers = 1, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim},
                      span.kv->pool().codec());
    const auto positions = static_cast<double>(std::min(first + span.rows, window + span.rows - 1));
    work.bytes += static_cast<double>(page) / kPagePositions * positions;
  }
  count("attention", nullptr, work);
  KernelCall& call = calls_.emplace_back();
  call.rows = q.rows;
  call.attention = shape;
  call.spans.assign(spans.host.begin(), spans.host.end());
  for (const Span& span : spans.host) call.lengths.push_back(span.kv->length());
}

}  // namespace verbatim
