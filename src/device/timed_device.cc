// The stopwatch.
#include "device/timed_device.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"

namespace verbatim {
namespace {

// "model.layers.3.mlp.up_proj" -> "model.layers.*.mlp.up_proj"
std::string without_numbers(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    const bool begins = i == 0 || name[i - 1] == '.';
    if (!digit || (!begins && text.back() != '*')) {
      text += name[i];
    } else if (begins) {
      text += '*';
    }
  }
  return text;
}

}  // namespace

template <typename Body>
void TimedDevice::timed(const char* op, const DeviceWeight* weight, const Body& body) {
  const Clock::time_point start = Clock::now();
  body();
  const double spent = seconds_since(start);
  for (Record& record : records_) {
    if (record.op == op && record.weight == weight) {
      ++record.calls;
      record.seconds += spent;
      return;
    }
  }
  records_.push_back({op, weight, 1, spent});
}

std::vector<OpTime> TimedDevice::times() const {
  std::map<std::pair<std::string, std::string>, OpTime> joined;
  for (const Record& record : records_) {
    const std::string name = record.weight != nullptr ? without_numbers(record.weight->name) : "";
    OpTime& time = joined[{record.op, name}];
    time.op = record.op;
    time.name = name;
    time.calls += record.calls;
    time.seconds += record.seconds;
  }
  std::vector<OpTime> times;
  times.reserve(joined.size());
  for (auto& [key, time] : joined) times.push_back(std::move(time));
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  return times;
}

void TimedDevice::do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                           const Tensor& out) {
  timed("embed", &table, [&] { inner_->do_embed(table, rows, out); });
}

void TimedDevice::do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                              const Tensor& out) {
  timed("rms_norm", nullptr, [&] { inner_->do_rms_norm(x, spans, gains, eps, out); });
}

void TimedDevice::do_linear(const Tensor& x, std::span<const Linear* const> w,
                            std::span<const Tensor> out, const Epilogue& epilogue) {
  timed("linear", w[0]->weight, [&] { inner_->do_linear(x, w, out, epilogue); });
}

void TimedDevice::do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) {
  timed("swiglu", nullptr, [&] { inner_->do_swiglu(gate, up, out); });
}

void TimedDevice::do_add(const Tensor& x, const Tensor& y) {
  timed("add", nullptr, [&] { inner_->do_add(x, y); });
}

void TimedDevice::do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) {
  timed("rope", nullptr, [&] { inner_->do_rope(x, spans, table); });
}

void TimedDevice::do_pick(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) {
  timed("pick", nullptr, [&] { inner_->do_pick(x, rows, out); });
}

void TimedDevice::do_best(const Tensor& x, const Linear& head, const Tensor& logits,
                          const Tensor& out) {
  timed("best", head.weight, [&] { inner_->do_best(x, head, logits, out); });
}

void TimedDevice::do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                            const Epilogue& epilogue, const Tensor& out) {
  timed("conv1d", conv.linear.weight, [&] { inner_->do_conv1d(x, spans, conv, epilogue, out); });
}

void TimedDevice::do_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                               const Spans& spans, const AttentionShape& shape,
                               const Tensor& scratch, const Tensor& out) {
  timed("attention", nullptr, [&] { inner_->do_attention(q, k, v, spans, shape, scratch, out); });
}

}  // namespace verbatim
