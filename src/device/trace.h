// Every named tensor: who listens, on which device, and under which scope. With no listener a trace
// costs one null check; no name is built and nothing is copied.
#pragma once

#include <string>
#include <string_view>

#include "device/spans.h"
#include "tensor/tensor.h"

namespace verbatim {

class Device;

class Tap {
 public:
  virtual ~Tap() = default;
  virtual bool wants(std::string_view name) const = 0;
  // rows: in host memory, valid during the call. spans say whose rows they are, from which
  // position, and in which phase ("", "step"); the dump's naming rules are in
  // tests/parity/README.md.
  virtual void see(std::string_view name, const Tensor& rows, const Spans& spans) = 0;
};

class Trace {
 public:
  Trace() = default;
  explicit Trace(Tap* tap) : tap_(tap) {}
  // A child's scope: "dec", 3 -> "dec.3". The child refers to this, which must outlive it.
  [[nodiscard]] Trace at(const char* scope, int index = -1) const&;
  Trace at(const char* scope, int index = -1) const&& = delete;
  // The same scope, told where the next rows live and whose they are; refers to both.
  [[nodiscard]] Trace on(Device& device, const Spans& spans) const;
  void operator()(const char* name, const Tensor& rows) const {
    if (tap_ != nullptr) show(name, rows);
  }
  // Rows of which the trace alone knows whose they are: one span from `position` on.
  void host(const char* name, const Tensor& rows, std::int64_t position,
            const char* phase = "") const {
    if (tap_ != nullptr) show_host(name, rows, position, phase);
  }
  // Does anybody listen at all, or to this name? For a fused op that would hide it.
  bool listens() const { return tap_ != nullptr; }
  bool wants(const char* name) const { return tap_ != nullptr && tap_->wants(full_name(name)); }

 private:
  std::string full_name(const char* name) const;
  void show(const char* name, const Tensor& rows) const;
  void show_host(const char* name, const Tensor& rows, std::int64_t position,
                 const char* phase) const;
  Tap* tap_ = nullptr;
  Device* device_ = nullptr;
  const Spans* spans_ = nullptr;
  const Trace* parent_ = nullptr;
  const char* scope_ = "";
  int index_ = -1;
};

}  // namespace verbatim
