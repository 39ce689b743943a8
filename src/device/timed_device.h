// TimedDevice: another device with a stopwatch around every op, per op and weight name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace verbatim {

struct OpTime {
  std::string op;  // "linear", "attention", ...
  // Of the weight, or the first of those that were projected together, its numbers as *; empty
  // where the op has none.
  std::string name;
  std::int64_t calls = 0;
  double seconds = 0;
};

class TimedDevice final : public Device {
 public:
  explicit TimedDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}
  // The slowest first. While no op runs.
  std::vector<OpTime> times() const;

  const DeviceInfo& info() const override { return inner_->info(); }
  Buffer allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void upload(const Tensor& to, std::span<const std::byte> from) override {
    inner_->upload(to, from);
  }
  void download(std::span<std::byte> to, const Tensor& from) override {
    inner_->download(to, from);
  }
  std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) override {
    return inner_->prepare(weight, use);
  }
  std::size_t weight_bytes(const Weight& weight, Use use) const override {
    return inner_->weight_bytes(weight, use);
  }
  Tensor receive(const Tensor& x) override { return inner_->receive(x); }
  std::size_t attention_scratch_bytes(const Spans& spans,
                                      const AttentionShape& shape) const override {
    return inner_->attention_scratch_bytes(spans, shape);
  }

 protected:
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
  struct Record {
    const char* op = "";
    const DeviceWeight* weight = nullptr;
    std::int64_t calls = 0;
    double seconds = 0;
  };
  template <typename Body>
  void timed(const char* op, const DeviceWeight* weight, const Body& body);

  std::unique_ptr<Device> inner_;
  std::vector<Record> records_;  // grows at the first sight of an op and weight alone
};

}  // namespace verbatim
