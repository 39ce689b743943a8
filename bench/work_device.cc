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

void WorkDevice::count(const char* op, const DeviceWeight* weight, const Work& work) {
  table_[{op, weight != nullptr ? without_numbers(weight->name) : ""}].add(work);
}

Work WorkDevice::projection(const DeviceWeight& weight, std::int64_t rows) {
  return {static_cast<double>(weight.projection_bytes),
          static_cast<double>(rows) * weight.out_features * weight.in_features};
}

void WorkDevice::do_linear(const Tensor& x, std::span<const Linear* const> w,
                           std::span<const Tensor>, const Epilogue&) {
  for (const Linear* each : w) count("linear", w[0]->weight, projection(*each->weight, x.rows));
}

void WorkDevice::do_best(const Tensor& x, const Linear& head, const Tensor&, const Tensor&) {
  Work work = projection(*head.weight, x.rows);
  work.bytes = static_cast<double>(head.weight->best_bytes);
  count("best", head.weight, work);
}

void WorkDevice::do_conv1d(const Tensor&, const Spans&, const Conv1d& conv, const Epilogue&,
                           const Tensor& out) {
  count("conv1d", conv.linear.weight, projection(*conv.linear.weight, out.rows));
}

void WorkDevice::do_attention(const Tensor&, const Tensor&, const Tensor&, const Spans& spans,
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
}

}  // namespace verbatim
