// CpuDevice: one kernel table, one thread pool, host memory. Every output element is computed whole
// by one worker, so the number of threads changes no bit.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/head_filter.h"
#include "cpu/kernel_table.h"
#include "cpu/rope_angles.h"
#include "device/device.h"

namespace verbatim {

class CpuWeight final : public DeviceWeight {
 public:
  const LinearKernel* kernel = nullptr;
  Buffer packed;                       // panels, when it is used as a projection
  std::unique_ptr<HeadFilter> filter;  // of a head; its scratch is written by every best()
  std::int32_t group = 0;
  bool has_zeros = false;
  Weight table;  // rows as stored or widened, when it is used as a table
  Buffer table_storage;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(const KernelTable& table, const DeviceOptions& options);

  const DeviceInfo& info() const override { return info_; }
  Buffer allocate(std::size_t bytes) override { return allocate_host(bytes); }
  void upload(const Tensor& to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const Tensor& from) override;
  std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) override;
  std::size_t weight_bytes(const Weight& weight, Use use) const override;
  Tensor receive(const Tensor& x) override { return x; }
  std::size_t attention_scratch_bytes(const Spans& spans,
                                      const AttentionShape& shape) const override;

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
  struct ConvSpan;  // one span's rows on their way through a convolution
  // The kernel of the format, or that of f32, which runs it widened.
  const LinearKernel& kernel_for(const WeightFormat& format) const;
  const LinearKernel& kernel_for(const Weight& weight) const;  // that of f32 where none can take it
  std::size_t projection_bytes(const Weight& weight) const;
  void tell_widened(const WeightFormat& format);
  bool is_filtered(const Weight& weight, Use use) const;
  // The call for rows of `out` from `first_row` on, but for the rows that go in.
  static LinearCall linear_call(const Linear& linear, const Epilogue& epilogue, const Tensor& out,
                                std::int64_t first_row);
  void run_linear(LinearCall whole, const LinearKernel& kernel);
  void run_panels(const LinearCall& whole, const LinearKernel& kernel,
                  std::span<const std::int32_t> panels);
  std::int64_t best_of(std::span<const float> row, std::span<const std::int32_t> panels) const;
  void round_rows(LinearCall& whole, Activations activations);
  void run_frames(const ConvSpan& span, const float* x, std::int64_t first, std::int64_t frames);
  void run_edge(const ConvSpan& span, std::int64_t first, std::int64_t frames);
  void keep_context(const ConvSpan& span);
  void store_kv(const Tensor& k, const Tensor& v, const Span& span, const AttentionShape& shape,
                std::int32_t head) const;
  void attend_block(const Tensor& q, const Tensor& out, const Span& span,
                    const AttentionShape& shape, std::int32_t head, std::int64_t first_row,
                    std::byte* scratch) const;
  std::size_t worker_scratch_bytes(std::int64_t positions, const AttentionShape& shape) const;

  const KernelTable& table_;
  DeviceInfo info_;
  HeadFilterUse head_filter_;
  ThreadPool pool_;
  Buffer linear_scratch_;    // kLinearScratchBytes for each worker
  Buffer rounded_;           // rows of activations as int8; grows to the most there were
  std::vector<float> edge_;  // the edge rows of a convolution with their context
  std::vector<const WeightFormat*> told_;  // formats without a kernel that the log has named
  RopeCache rope_angles_;
};

}  // namespace verbatim
