// WorkDevice runs nothing: its ops count what a pass over a model that another device holds cannot
// do without. Weights are read once, keys and values that are seen once, and every product of a
// projection or of attention is one multiply-add. What was asked of kernels is kept, to be asked
// again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/kernel_replay.h"
#include "device/device.h"

namespace verbatim {

struct Work {
  double bytes = 0;
  double multiply_adds = 0;
  double byte_products = 0;  // the same where weights and activations are int8

  void add(const Work& other) {
    bytes += other.bytes;
    multiply_adds += other.multiply_adds;
    byte_products += other.byte_products;
  }
};

class WorkDevice final : public Device {
 public:
  explicit WorkDevice(const Device& real);
  // By op and weight, as TimedDevice joins them: layers' numbers are *, what is projected together
  // is one.
  using Table = std::map<std::pair<std::string, std::string>, Work>;
  const Table& table() const { return table_; }
  Work total() const;
  const std::vector<KernelCall>& calls() const { return calls_; }
  void clear();

  const DeviceInfo& info() const override { return real_.info(); }
  Buffer allocate(std::size_t bytes) override { return reserve_addresses(bytes); }
  void upload(const Tensor&, std::span<const std::byte>) override {}
  void download(std::span<std::byte>, const Tensor&) override {}
  std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) override;
  std::size_t weight_bytes(const Weight& weight, Use use) const override {
    return real_.weight_bytes(weight, use);
  }
  Tensor receive(const Tensor& x) override { return x; }
  std::size_t attention_scratch_bytes(const Spans& spans,
                                      const AttentionShape& shape) const override {
    return real_.attention_scratch_bytes(spans, shape);
  }

 protected:
  void do_embed(const DeviceWeight&, std::span<const RowInput>, const Tensor&) override {}
  void do_rms_norm(const Tensor&, const Spans*, const Tensor&, float, const Tensor&) override {}
  void do_linear(const Tensor& x, std::span<const Linear* const> w, std::span<const Tensor> out,
                 const Epilogue& epilogue) override;
  void do_swiglu(const Tensor&, const Tensor&, const Tensor&) override {}
  void do_add(const Tensor&, const Tensor&) override {}
  void do_rope(const Tensor&, const Spans&, const RopeTable&) override {}
  void do_pick(const Tensor&, std::span<const std::int32_t>, const Tensor&) override {}
  void do_best(const Tensor& x, const Linear& head, const Tensor&, const Tensor&) override;
  void do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv, const Epilogue& epilogue,
                 const Tensor& out) override;
  void do_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                    const AttentionShape& shape, const Tensor& scratch, const Tensor& out) override;

 private:
  static Work projection(const DeviceWeight& weight, std::int64_t rows);
  void count(const char* op, const DeviceWeight* weight, const Work& work);

  const Device& real_;
  Table table_;
  std::vector<KernelCall> calls_;
};

}  // namespace verbatim
