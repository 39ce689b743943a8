// RangeDevice: another device that remembers what entered each named weight: the largest |x| of
// every input feature, and some of the rows. What `verbatim calibrate` runs a dense model on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"
#include "weights/calibration.h"

namespace verbatim {

class RangeDevice final : public Device {
 public:
  // Rows kept of each input: all of the first so many, then every second, fourth, ... of all, so
  // that they are spread over what was seen and depend on its order alone.
  static constexpr std::int64_t kMostRows = 64;

  explicit RangeDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}
  // By the first name. While no op runs and the weights live. Convolutions, whose inputs nothing in
  // front can scale, are left out.
  std::vector<SeenInput> seen() const;

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
    std::vector<const DeviceWeight*> weights;
    std::int64_t step = 1;  // from a row that is kept to the next
    SeenInput input;
  };
  void look(const Tensor& x, std::span<const Linear* const> w);
  Record& record(std::span<const Linear* const> w, std::int64_t features);
  static void add(Record& record, std::span<const float> row);

  std::unique_ptr<Device> inner_;
  std::vector<Record> records_;
  std::vector<float> rows_;  // of the running op, in host memory
};

}  // namespace verbatim
