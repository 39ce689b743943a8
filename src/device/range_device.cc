// Looks at what a projection reads before it runs.
#include "device/range_device.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace verbatim {

std::vector<SeenInput> RangeDevice::seen() const {
  std::vector<SeenInput> all;
  for (const Record& record : records_) {
    all.push_back(record.input);
    for (const DeviceWeight* weight : record.weights) all.back().names.push_back(weight->name);
  }
  std::sort(all.begin(), all.end(), [](const SeenInput& a, const SeenInput& b) {
    return a.names.front() < b.names.front();
  });
  return all;
}

RangeDevice::Record& RangeDevice::record(std::span<const Linear* const> w, std::int64_t features) {
  for (Record& known : records_) {
    if (known.weights.front() == w[0]->weight) return known;
  }
  Record& made = records_.emplace_back();
  for (const Linear* linear : w) made.weights.push_back(linear->weight);
  made.input.largest.resize(static_cast<std::size_t>(features));
  return made;
}

void RangeDevice::add(Record& record, std::span<const float> row) {
  SeenInput& input = record.input;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float size = std::fabs(row[i]);
    // What is no number must not pass for a small one.
    input.largest[i] =
        size <= FLT_MAX ? std::max(input.largest[i], size) : std::numeric_limits<float>::infinity();
  }
  if (input.count++ % record.step != 0) return;
  if (input.rows.size() == static_cast<std::size_t>(kMostRows) * row.size()) {
    // Every second one goes; the row at hand, the next multiple of the old step, is one of the new.
    for (std::int64_t kept = 1; 2 * kept < kMostRows; ++kept) {
      const auto width = static_cast<std::ptrdiff_t>(row.size());
      std::copy_n(input.rows.begin() + 2 * kept * width, width, input.rows.begin() + kept * width);
    }
    input.rows.resize(static_cast<std::size_t>(kMostRows) / 2 * row.size());
    record.step *= 2;
  }
  input.rows.insert(input.rows.end(), row.begin(), row.end());
}

void RangeDevice::look(const Tensor& x, std::span<const Linear* const> w) {
  Record& here = record(w, x.cols);
  const auto width = static_cast<std::size_t>(x.cols);
  rows_.resize(static_cast<std::size_t>(x.rows) * width);
  inner_->download(std::as_writable_bytes(std::span(rows_)), x);
  for (std::size_t r = 0; r < static_cast<std::size_t>(x.rows); ++r)
    add(here, std::span<const float>(rows_).subspan(r * width, width));
}

void RangeDevice::do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                           const Tensor& out) {
  inner_->do_embed(table, rows, out);
}

void RangeDevice::do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                              const Tensor& out) {
  inner_->do_rms_norm(x, spans, gains, eps, out);
}

void RangeDevice::do_linear(const Tensor& x, std::span<const Linear* const> w,
                            std::span<const Tensor> out, const Epilogue& epilogue) {
  look(x, w);
  inner_->do_linear(x, w, out, epilogue);
}

void RangeDevice::do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) {
  inner_->do_swiglu(gate, up, out);
}

void RangeDevice::do_add(const Tensor& x, const Tensor& y) {
  inner_->do_add(x, y);
}

void RangeDevice::do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) {
  inner_->do_rope(x, spans, table);
}

void RangeDevice::do_pick(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) {
  inner_->do_pick(x, rows, out);
}

void RangeDevice::do_best(const Tensor& x, const Linear& head, const Tensor& logits,
                          const Tensor& out) {
  const Linear* one = &head;
  look(x, std::span<const Linear* const>(&one, 1));
  inner_->do_best(x, head, logits, out);
}

void RangeDevice::do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                            const Epilogue& epilogue, const Tensor& out) {
  inner_->do_conv1d(x, spans, conv, epilogue, out);
}

void RangeDevice::do_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                               const Spans& spans, const AttentionShape& shape,
                               const Tensor& scratch, const Tensor& out) {
  inner_->do_attention(q, k, v, spans, shape, scratch, out);
}

}  // namespace verbatim
