// CheckedDevice: every op runs on two devices over the same memory, and the bytes are compared. How
// a kernel is brought up inside the real model.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace verbatim {

class CheckedDevice final : public Device {
 public:
  // The first device's results are kept. second must outlive this.
  CheckedDevice(std::unique_ptr<Device> first, Device& second)
      : first_(std::move(first)), second_(second) {}

  const DeviceInfo& info() const override { return first_->info(); }
  Buffer allocate(std::size_t bytes) override { return first_->allocate(bytes); }
  void upload(const Tensor& to, std::span<const std::byte> from) override {
    first_->upload(to, from);
  }
  void download(std::span<std::byte> to, const Tensor& from) override {
    first_->download(to, from);
  }
  std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) override;
  std::size_t weight_bytes(const Weight& weight, Use use) const override;
  Tensor receive(const Tensor& x) override { return first_->receive(x); }
  std::size_t attention_scratch_bytes(const Spans& spans,
                                      const AttentionShape& shape) const override;

 protected:
  // Each throws kDevice naming op, weight, row, column and both values where the two differ.
  void do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                const Tensor& out) override;
  void do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                   const Tensor& out) override;
  void do_linear(const Tensor& x, std::span<const Linear* const> w, std::span<const Tensor> out,
                 const Epilogue& epilogue) override;
  void do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) override;
  void do_add(const Tensor& x, const Tensor& y) override;
  void do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) override;
  void do_pick(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) override;
  void do_best(const Tensor& x, const Linear& head, const Tensor& logits,
               const Tensor& out) override;
  void do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv, const Epilogue& epilogue,
                 const Tensor& out) override;
  void do_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                    const AttentionShape& shape, const Tensor& scratch, const Tensor& out) override;

 private:
  Tensor twin(std::size_t index, const Tensor& of);  // memory of `of`'s shape for the second device

  std::unique_ptr<Device> first_;
  Device& second_;
  std::vector<std::vector<std::byte>> twins_;
};

}  // namespace verbatim
