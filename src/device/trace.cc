// Names are built only for a listener: parent scopes first, joined by dots.
#include "device/trace.h"

#include <utility>
#include <vector>

#include "device/device.h"

namespace verbatim {

Trace Trace::at(const char* scope, int index) const& {
  Trace child = *this;
  child.parent_ = this;
  child.scope_ = scope;
  child.index_ = index;
  return child;
}

Trace Trace::on(Device& device, const Spans& spans) const {
  Trace here = *this;
  here.device_ = &device;
  here.spans_ = &spans;
  return here;
}

std::string Trace::full_name(const char* name) const {
  std::string text = name;
  for (const Trace* scope = this; scope != nullptr; scope = scope->parent_) {
    if (scope->scope_[0] == '\0') continue;
    std::string front = scope->scope_;
    if (scope->index_ >= 0) front += formatted(".%d", scope->index_);
    front += '.';
    front += text;
    text = std::move(front);
  }
  return text;
}

void Trace::show(const char* name, const Tensor& rows) const {
  const std::string full = full_name(name);
  if (!tap_->wants(full)) return;
  check(device_ != nullptr && spans_ != nullptr, "a trace knows where its rows live");
  const std::size_t row_bytes = static_cast<std::size_t>(rows.cols * dtype_bytes(rows.dtype));
  std::vector<std::byte> bytes(row_bytes * static_cast<std::size_t>(rows.rows));
  device_->download(bytes, rows);
  Tensor copy = rows;
  copy.data = bytes.data();
  copy.stride = rows.cols;
  copy.memory = Memory::kHost;
  tap_->see(full, copy, *spans_);
}

void Trace::show_host(const char* name, const Tensor& rows, std::int64_t position,
                      const char* phase) const {
  const std::string full = full_name(name);
  if (!tap_->wants(full)) return;
  Span span;
  span.rows = static_cast<std::int32_t>(rows.rows);
  span.position = position;
  span.phase = phase;
  tap_->see(full, rows, Spans{std::span<const Span>(&span, 1)});
}

}  // namespace verbatim
