// The CPU's weights, row ops and projections; convolutions and attention stand in files of their
// own.
#include "cpu/cpu_device.h"

#include <algorithm>
#include <cstring>

#include "base/cpu_topology.h"
#include "base/log.h"
#include "cpu/linear_cut.h"

namespace verbatim {
namespace {

// Fewer values of a row op are not worth waking a worker for.
constexpr std::int64_t kValuesEach = 1 << 14;

int thread_count(const DeviceOptions& options) {
  if (options.threads > 0) return options.threads;
  return cpu_topology().default_threads;
}

const CpuWeight& cpu_weight(const DeviceWeight& weight) {
  return static_cast<const CpuWeight&>(weight);
}

float* row_at(const Tensor& x, std::int64_t row) {
  return x.f32() + row * x.stride;
}

std::int64_t row_grain(const Tensor& x) {
  return std::max<std::int64_t>(1, kValuesEach / x.cols);
}

}  // namespace

CpuDevice::CpuDevice(const KernelTable& table, const DeviceOptions& options)
    : table_(table),
      head_filter_(options.head_filter),
      pool_(thread_count(options), options.pin_threads),
      linear_scratch_(
          allocate_host(kLinearScratchBytes * static_cast<std::size_t>(pool_.threads()))) {
  info_.name = std::string("cpu ") + table.isa;
}

void CpuDevice::upload(const Tensor& to, std::span<const std::byte> from) {
  check(to.stride == to.cols &&
            static_cast<std::int64_t>(from.size()) == to.rows * to.cols * dtype_bytes(to.dtype),
        "an upload fills its tensor");
  if (!from.empty()) std::memcpy(to.data, from.data(), from.size());
}

void CpuDevice::download(std::span<std::byte> to, const Tensor& from) {
  const std::size_t row_bytes = static_cast<std::size_t>(from.cols * dtype_bytes(from.dtype));
  check(to.size() == row_bytes * static_cast<std::size_t>(from.rows), "a download fills its bytes");
  for (std::int64_t r = 0; r < from.rows; ++r) {
    std::memcpy(to.data() + static_cast<std::size_t>(r) * row_bytes,
                from.data + r * from.stride * dtype_bytes(from.dtype), row_bytes);
  }
}

const LinearKernel& CpuDevice::kernel_for(const WeightFormat& format) const {
  for (const LinearKernel& kernel : table_.linear) {
    if (kernel.format == &format) return kernel;
  }
  check(&format != &kFormatF32, "every table has a kernel for f32");
  // What rounds its rows cannot run as floats.
  if (format.activations == Activations::kFloat) return kernel_for(kFormatF32);
  fail(Code::kUnsupported, "the CPU has no kernel for weights in %s", format.name);
}

const LinearKernel& CpuDevice::kernel_for(const Weight& weight) const {
  const LinearKernel& kernel = kernel_for(*weight.format);
  const bool takes = kernel.can == nullptr || kernel.can(weight);
  return takes ? kernel : kernel_for(kFormatF32);
}

void CpuDevice::tell_widened(const WeightFormat& format) {
  if (std::find(told_.begin(), told_.end(), &format) != told_.end()) return;
  told_.push_back(&format);
  log(Level::kWarn,
      "%s: no kernel for some weights in %s, they are widened to f32: right, but large and "
      "slow",
      info_.name.c_str(), format.name);
}

std::size_t CpuDevice::weight_bytes(const Weight& weight, Use use) const {
  std::size_t bytes = use != Use::kTable ? projection_bytes(weight) : 0;
  if (is_filtered(weight, use)) bytes += HeadFilter::bytes(table_, weight, pool_.threads());
  if (is_table(use)) {
    const std::size_t stored = weight.format->element_bytes;
    bytes += static_cast<std::size_t>(weight.out_features) *
             static_cast<std::size_t>(weight.in_features) * (stored == 0 ? sizeof(float) : stored);
  }
  return bytes;
}

bool CpuDevice::is_filtered(const Weight& weight, Use use) const {
  return is_head(use) && HeadFilter::takes(table_, weight, head_filter_);
}

std::size_t CpuDevice::projection_bytes(const Weight& weight) const {
  return kernel_for(weight).packed_bytes(weight);
}

namespace {

Weight dense_shape(std::int32_t out, std::int32_t in) {
  Weight shape;
  shape.format = &kFormatF32;
  shape.out_features = out;
  shape.in_features = in;
  return shape;
}

std::vector<std::byte> widened_rows(const Weight& weight, std::int32_t first, std::int32_t rows) {
  const auto in = static_cast<std::size_t>(weight.in_features);
  std::vector<float> row(in);
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows) * in * sizeof(float));
  for (std::int32_t r = 0; r < rows; ++r) {
    weight.format->decode_row(weight, first + r, row);
    std::memcpy(bytes.data() + static_cast<std::size_t>(r) * in * sizeof(float), row.data(),
                in * sizeof(float));
  }
  return bytes;
}

// Packs what the rows decode to as panels of f32, panel by panel.
void pack_widened(const Weight& weight, const LinearKernel& kernel, std::int64_t first,
                  std::int64_t last, std::byte* packed) {
  const std::size_t panel_bytes = kernel.packed_bytes(dense_shape(kLanes, weight.in_features));
  for (std::int64_t panel = first; panel < last; ++panel) {
    const auto row = static_cast<std::int32_t>(panel * kLanes);
    const std::int32_t rows = std::min(kLanes, weight.out_features - row);
    const std::vector<std::byte> bytes = widened_rows(weight, row, rows);
    kernel.pack(dense_weight(kFormatF32, bytes, rows, weight.in_features), 0, 1,
                packed + static_cast<std::size_t>(panel) * panel_bytes);
  }
}

void keep_table(const Weight& weight, CpuWeight& made) {
  std::vector<std::byte> widened;
  std::span<const std::byte> bytes = weight.planes[0];
  made.table = weight;
  if (weight.format->element_bytes == 0) {
    widened = widened_rows(weight, 0, weight.out_features);
    bytes = widened;
    made.table = dense_weight(kFormatF32, bytes, weight.out_features, weight.in_features);
  }
  made.table_storage = allocate_host(bytes.size());
  std::memcpy(made.table_storage.data(), bytes.data(), bytes.size());
  made.table.planes[0] = {made.table_storage.data(), bytes.size()};
}

}  // namespace

std::unique_ptr<DeviceWeight> CpuDevice::prepare(const Weight& weight, Use use) {
  auto made = std::make_unique<CpuWeight>();
  made->out_features = weight.out_features;
  made->in_features = weight.in_features;
  made->format = weight.format;
  made->group = weight.group;
  made->has_zeros = !weight.planes[2].empty();
  made->bytes = weight_bytes(weight, use);
  if (use != Use::kTable) {
    const LinearKernel& kernel = kernel_for(weight);
    const bool widened = kernel.format != weight.format;
    if (widened) tell_widened(*weight.format);
    made->kernel = &kernel;
    made->projection_bytes = projection_bytes(weight);
    made->packed = allocate_host(made->projection_bytes);
    std::byte* packed = made->packed.data();
    pool_.parallel_for(panel_count(weight.out_features), 1,
                       [&](std::int64_t first, std::int64_t last, int) {
                         if (widened) {
                           pack_widened(weight, kernel, first, last, packed);
                         } else {
                           kernel.pack(weight, first, last - first, packed);
                         }
                       });
    made->best_bytes = made->projection_bytes;
  }
  if (is_filtered(weight, use)) {
    made->filter = std::make_unique<HeadFilter>(table_, weight, pool_);
    made->best_bytes = made->filter->read_bytes();
  }
  if (is_table(use)) keep_table(weight, *made);
  return made;
}

void CpuDevice::do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                         const Tensor& out) {
  const Weight& stored = cpu_weight(table).table;
  const auto count = static_cast<std::int64_t>(rows.size());
  pool_.parallel_for(count, row_grain(out), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      const RowInput& row = rows[static_cast<std::size_t>(r)];
      const std::span<float> to(row_at(out, r), static_cast<std::size_t>(out.cols));
      if (row.token < 0) {
        std::memcpy(to.data(), row.audio.f32(), to.size_bytes());
        continue;
      }
      stored.format->decode_row(stored, row.token, to);
      if (!row.audio.empty()) table_.add(to.data(), row.audio.f32(), out.cols);
    }
  });
}

void CpuDevice::do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                            const Tensor& out) {
  if (spans == nullptr) {
    const float* gain = gains.f32();
    pool_.parallel_for(x.rows, row_grain(x), [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t r = first; r < last; ++r) {
        table_.rms_norm(row_at(x, r), gain, eps, row_at(out, r), x.cols);
      }
    });
    return;
  }
  for (const Span& span : spans->host) {
    const float* gain = row_at(gains, span.condition);
    pool_.parallel_for(span.rows, row_grain(x), [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t r = span.first_row + first; r < span.first_row + last; ++r) {
        table_.rms_norm(row_at(x, r), gain, eps, row_at(out, r), x.cols);
      }
    });
  }
}

// Once for all panels and workers.
void CpuDevice::round_rows(LinearCall& whole, Activations activations) {
  const KernelTable::RoundRow round_row = table_.rounding(activations);
  const std::size_t row_bytes = rounded_row(whole.in_features, whole.group).bytes;
  const std::size_t bytes = row_bytes * static_cast<std::size_t>(whole.rows);
  if (rounded_.size() < bytes) rounded_ = allocate_host(bytes);
  const std::int64_t grain = std::max<std::int64_t>(1, kValuesEach / whole.in_features);
  pool_.parallel_for(whole.rows, grain, [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      round_row(whole.x + r * whole.x_stride, whole.in_features, whole.group,
                rounded_.data() + static_cast<std::size_t>(r) * row_bytes);
    }
  });
  whole.rounded = rounded_.data();
  whole.rounded_stride = static_cast<std::int64_t>(row_bytes);
}

void CpuDevice::run_linear(LinearCall whole, const LinearKernel& kernel) {
  const Activations activations = kernel.format->activations;
  if (activations != Activations::kFloat && whole.rounded == nullptr)
    round_rows(whole, activations);
  const LinearCut cut = linear_cut(whole, pool_.threads());
  pool_.parallel_for(cut.count, cut.grain, [&](std::int64_t first, std::int64_t last, int worker) {
    std::byte* scratch =
        linear_scratch_.data() + kLinearScratchBytes * static_cast<std::size_t>(worker);
    kernel.run(cut.part(whole, first, last, scratch));
  });
}

LinearCall CpuDevice::linear_call(const Linear& linear, const Epilogue& epilogue, const Tensor& out,
                                  std::int64_t first_row) {
  const CpuWeight& weight = cpu_weight(*linear.weight);
  LinearCall call;
  call.packed = weight.packed.data();
  call.in_features = weight.in_features;
  call.out_features = weight.out_features;
  call.group = weight.group;
  call.has_zeros = weight.has_zeros;
  call.y = row_at(out, first_row);
  call.y_stride = out.stride;
  call.bias = linear.bias.empty() ? nullptr : linear.bias.f32();
  call.activation =
      epilogue.activation == Activation::kGelu ? KernelActivation::kGelu : KernelActivation::kNone;
  call.gain = epilogue.gain.empty() ? nullptr : epilogue.gain.f32();
  call.residual = epilogue.residual.empty() ? nullptr : row_at(epilogue.residual, first_row);
  call.residual_stride = epilogue.residual.stride;
  return call;
}

void CpuDevice::do_linear(const Tensor& x, std::span<const Linear* const> w,
                          std::span<const Tensor> out, const Epilogue& epilogue) {
  const LinearKernel* before = nullptr;
  LinearCall call;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const LinearCall last = call;
    const LinearKernel& kernel = *cpu_weight(*w[i]->weight).kernel;
    call = linear_call(*w[i], epilogue, out[i], 0);
    call.x = x.f32();
    call.x_stride = x.stride;
    call.rows = x.rows;
    if (const Activations as = kernel.format->activations; as != Activations::kFloat) {
      // Rows that were rounded in the same way serve again.
      const bool serve =
          before != nullptr && before->format->activations == as && last.group == call.group;
      if (serve) {
        call.rounded = last.rounded;
        call.rounded_stride = last.rounded_stride;
      } else {
        round_rows(call, as);
      }
    }
    run_linear(call, kernel);
    before = &kernel;
  }
}

void CpuDevice::do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) {
  pool_.parallel_for(gate.rows, row_grain(gate), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) {
      table_.swiglu(row_at(gate, r), row_at(up, r), row_at(out, r), gate.cols);
    }
  });
}

void CpuDevice::do_add(const Tensor& x, const Tensor& y) {
  pool_.parallel_for(x.rows, row_grain(x), [&](std::int64_t first, std::int64_t last, int) {
    for (std::int64_t r = first; r < last; ++r) table_.add(row_at(x, r), row_at(y, r), x.cols);
  });
}

void CpuDevice::do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) {
  const auto head_dim = static_cast<std::int32_t>(2 * table.inv_freq.size());
  const auto rotate = table.interleaved ? table_.rope_interleaved : table_.rope;
  RopeAngles& angles = rope_angles_.of(table.inv_freq, x.rows);
  for (const Span& span : spans.host) {
    pool_.parallel_for(span.rows, row_grain(x), [&](std::int64_t first, std::int64_t last, int) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t r = span.first_row + i;
        const float* cos = angles.at(r, span.position + i);
        const float* sin = cos + head_dim / 2;
        for (std::int64_t head = 0; head < x.cols; head += head_dim) {
          rotate(row_at(x, r) + head, cos, sin, head_dim);
        }
      }
    });
  }
}

void CpuDevice::do_pick(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(row_at(out, static_cast<std::int64_t>(i)), row_at(x, rows[i]),
                static_cast<std::size_t>(x.cols) * sizeof(float));
  }
}

void CpuDevice::run_panels(const LinearCall& whole, const LinearKernel& kernel,
                           std::span<const std::int32_t> panels) {
  const auto count = static_cast<std::int64_t>(panels.size());
  pool_.parallel_for(count, 1, [&](std::int64_t first, std::int64_t last, int worker) {
    LinearCall call = whole;
    call.scratch = linear_scratch_.data() + kLinearScratchBytes * static_cast<std::size_t>(worker);
    for (std::int64_t i = first; i < last; i += call.panels) {
      const std::int32_t* here = panels.data() + i;
      call.panel = here[0];
      call.panels = 1;
      while (i + call.panels < last && here[call.panels] == call.panel + call.panels) ++call.panels;
      kernel.run(call);
    }
  });
}

// As KernelTable::arg_max over all of the row, where one of these panels holds the answer.
std::int64_t CpuDevice::best_of(std::span<const float> row,
                                std::span<const std::int32_t> panels) const {
  float largest = -__builtin_inff();
  std::int64_t best = 0;
  for (const std::int32_t panel : panels) {
    const std::int64_t first = std::int64_t{panel} * kLanes;
    const std::int64_t left = static_cast<std::int64_t>(row.size()) - first;
    const std::int64_t here =
        first + table_.arg_max(row.data() + first, std::min<std::int64_t>(kLanes, left));
    const float value = row[static_cast<std::size_t>(here)];
    if (value > largest) {
      largest = value;
      best = here;
    }
  }
  return best;
}

void CpuDevice::do_best(const Tensor& x, const Linear& head, const Tensor& logits,
                        const Tensor& out) {
  const CpuWeight& weight = cpu_weight(*head.weight);
  LinearCall whole = linear_call(head, {}, logits, 0);
  whole.x = x.f32();
  whole.x_stride = x.stride;
  whole.rows = x.rows;
  std::span<const std::int32_t> panels;
  const std::int64_t most =
      head_filter_ == HeadFilterUse::kAlways ? HeadFilter::kRows : table_.filter_rows;
  if (weight.filter != nullptr && head.bias.empty() && x.rows <= most)
    panels = weight.filter->candidates(whole.x, whole.x_stride, whole.rows, pool_,
                                       linear_scratch_.data());
  if (panels.empty()) {
    run_linear(whole, *weight.kernel);
  } else {
    run_panels(whole, *weight.kernel, panels);
  }
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const std::span<const float> row = logits.row<const float>(r);
    const std::int64_t best =
        panels.empty() ? table_.arg_max(row.data(), logits.cols) : best_of(row, panels);
    out.row<std::int32_t>(r)[0] = static_cast<std::int32_t>(best);
  }
}

namespace {

std::unique_ptr<Device> open_cpu(int, const DeviceOptions& options) {
  std::string known;
  for (const KernelTable* table : kernel_tables()) {
    if (!table->runs_here()) continue;
    if (options.isa.empty() || options.isa == table->isa) {
      return std::make_unique<CpuDevice>(*table, options);
    }
    append_listed(known, table->isa);
  }
  fail(Code::kInvalidArgument, "instruction set '%s' does not run here; these do: %s",
       options.isa.c_str(), known.c_str());
}

int count_cpus() {
  return 1;
}

std::vector<std::string> cpu_variants() {
  std::vector<std::string> names;
  for (const KernelTable* table : kernel_tables()) {
    if (table->runs_here()) names.emplace_back(table->isa);
  }
  return names;
}

}  // namespace

extern const DeviceFactory kCpuDevice;
const DeviceFactory kCpuDevice{"cpu", count_cpus, open_cpu, cpu_variants};

}  // namespace verbatim
