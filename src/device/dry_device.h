// DryDevice stands in for a device that has not been filled yet: it asks the real one what each
// weight would take, and its ops only take memory. Running a model's forward pass on it sizes the
// arena, so the budget cannot drift from the code it is a budget for.
#pragma once

#include <cstddef>
#include <memory>

#include "device/device.h"

namespace verbatim {

class DryDevice final : public Device {
 public:
  explicit DryDevice(const Device& real);
  std::size_t weights_bytes() const { return weights_bytes_; }  // of all prepare() calls so far
  std::size_t vectors_bytes() const { return vectors_bytes_; }  // of all allocate() calls so far

  const DeviceInfo& info() const override { return real_.info(); }
  Buffer allocate(std::size_t bytes) override;
  void upload(const Tensor&, std::span<const std::byte>) override {}
  void download(std::span<std::byte>, const Tensor&) override {}
  std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) override;
  std::size_t weight_bytes(const Weight& weight, Use use) const override {
    return real_.weight_bytes(weight, use);
  }
  bool needs_bytes() const override { return false; }
  Tensor receive(const Tensor& x) override { return x; }
  std::size_t attention_scratch_bytes(const Spans& spans,
                                      const AttentionShape& shape) const override {
    return real_.attention_scratch_bytes(spans, shape);
  }

 protected:
  void do_embed(const DeviceWeight&, std::span<const RowInput>, const Tensor&) override {}
  void do_rms_norm(const Tensor&, const Spans*, const Tensor&, float, const Tensor&) override {}
  void do_linear(const Tensor&, std::span<const Linear* const>, std::span<const Tensor>,
                 const Epilogue&) override {}
  void do_swiglu(const Tensor&, const Tensor&, const Tensor&) override {}
  void do_add(const Tensor&, const Tensor&) override {}
  void do_rope(const Tensor&, const Spans&, const RopeTable&) override {}
  void do_pick(const Tensor&, std::span<const std::int32_t>, const Tensor&) override {}
  void do_best(const Tensor&, const Linear&, const Tensor&, const Tensor&) override {}
  void do_conv1d(const Tensor&, const Spans&, const Conv1d&, const Epilogue&,
                 const Tensor&) override {}
  void do_attention(const Tensor&, const Tensor&, const Tensor&, const Spans&,
                    const AttentionShape&, const Tensor&, const Tensor&) override {}

 private:
  const Device& real_;
  std::size_t weights_bytes_ = 0;
  std::size_t vectors_bytes_ = 0;
};

}  // namespace verbatim
