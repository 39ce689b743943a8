// Device: an ordered queue of ops over one memory. The public functions check shapes, take the
// result from the arena and call one protected virtual each, so that every device has the same
// checks and a decorator overrides the same short list a backend does. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device_weight.h"
#include "device/spans.h"
#include "tensor/tensor.h"

namespace verbatim {

struct DeviceInfo {
  std::string name;  // "cpu avx512"
};

// One hidden row = embedding[token] + audio. Either part may be absent: a text token, a speech
// frame that replaces a token, and a speech frame added to one are the same op.
struct RowInput {
  std::int32_t token = -1;
  Tensor audio;  // [1, hidden] or empty
};

enum class Activation : std::uint8_t { kNone, kGelu };

struct Epilogue {
  Activation activation = Activation::kNone;
  Tensor gain = {};      // [1, out]; layer scale
  Tensor residual = {};  // [rows, out]; result = residual + gain * activation(x W^T + b)
};

// A causal convolution: the left context is kernel - stride rows, the last span is padded with
// zeros on the right to a whole stride. Reference: modular_vibevoice_tokenizer.py, SConv1d.
struct Conv1d {
  Linear linear;  // weight as [out, kernel * in / groups]: taps oldest first, channels inside
  std::int32_t in_channels = 0;
  std::int32_t kernel = 1;
  std::int32_t stride = 1;
  std::int32_t groups = 1;  // 1, or in_channels with stride 1 (depthwise, an f32 weight)
  std::int64_t state = 0;   // where this layer's left context sits in a ConvState
  std::int32_t context() const { return kernel - stride; }
};

struct AttentionShape {
  std::int32_t layer = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int64_t window = 0;  // positions a query may look back, itself included; 0 is all of them
};

struct RopeTable {
  std::vector<float> inv_freq;  // as the reference computes it, in its dtype; head_dim / 2 of them
  bool interleaved = false;     // pairs (2i, 2i + 1); else (i, i + head_dim / 2)
};

class Device {
 public:
  virtual ~Device() = default;

  // Memory and order. Ops run in the order they were called; download() waits for them.
  virtual const DeviceInfo& info() const = 0;
  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual void upload(const Tensor& to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, const Tensor& from) = 0;
  virtual std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) = 0;
  // What prepare would take. Looks at shape, group and which planes there are, at no byte.
  virtual std::size_t weight_bytes(const Weight& weight, Use use) const = 0;
  // Whether prepare looks at bytes: who makes them may spare them else.
  virtual bool needs_bytes() const { return true; }
  virtual Tensor receive(const Tensor& x) = 0;  // x itself when it is already here
  // Scratch an attention over these spans takes, for the arena.
  virtual std::size_t attention_scratch_bytes(const Spans& spans,
                                              const AttentionShape& shape) const = 0;

  void set_arena(Arena arena) { arena_ = std::move(arena); }  // once its size is known
  Arena& arena() { return arena_; }
  // Begins a batch: spans of earlier batches are gone.
  Spans spans(std::span<const Span> batch);
  // The spans of what a strided conv1d makes: rows / stride, rounded up where the span is last.
  Spans strided(const Spans& spans, std::int32_t stride);

  // Row ops: row i of the result depends on row i of x, on its position and condition, on the
  // weights, and on nothing else. Results stand in the arena.
  Tensor embed(const DeviceWeight& table, std::span<const RowInput> rows);  // [rows, hidden]
  Tensor rms_norm(const Tensor& x, const Tensor& gain, float eps);          // gain: [1, features]
  // gains: [conditions, features]; each span says which row is its own.
  Tensor rms_norm(const Tensor& x, const Spans& spans, const Tensor& gains, float eps);
  // [rows, in] to [rows, out].
  Tensor linear(const Tensor& x, const Linear& w, const Epilogue& epilogue = {});
  template <typename... L>
  std::array<Tensor, sizeof...(L)> project(const Tensor& x, const L&... w) {  // one read of x
    std::array<Tensor, sizeof...(L)> out;
    const std::array<const Linear*, sizeof...(L)> all{&w...};
    project_all(x, all, out);
    return out;
  }
  Tensor swiglu(const Tensor& gate, const Tensor& up);  // silu(gate) * up, of one shape
  void add(const Tensor& x, const Tensor& y);           // x += y, of one shape
  // Rotates x, heads side by side, in place.
  void rope(const Tensor& x, const Spans& spans, const RopeTable& table);
  Tensor pick(const Tensor& x, std::span<const std::int32_t> rows);  // these rows, in this order
  Tensor best(const Tensor& x, const Linear& head);  // [rows, 1] i32: arg max of x head^T

  // Span ops: the only ones that look across rows.
  // [rows, in_channels] to [frames, out]; the frames of a span are its rows / stride, rounded up
  // where it is last.
  Tensor conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                const Epilogue& epilogue = {});
  // q [rows, heads * head_dim], k and v [rows, kv_heads * head_dim] to q's shape. Stores k and v
  // behind what each span's cache holds, then attends; the caller advances the caches once the
  // last layer is done.
  Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                   const AttentionShape& shape);

 protected:
  friend class CheckedDevice;
  friend class RangeDevice;
  friend class TimedDevice;
  Device() = default;
  void project_all(const Tensor& x, std::span<const Linear* const> w, std::span<Tensor> out);

  virtual void do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                        const Tensor& out) = 0;
  // spans: null when every row takes the one gain.
  virtual void do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                           const Tensor& out) = 0;
  virtual void do_linear(const Tensor& x, std::span<const Linear* const> w,
                         std::span<const Tensor> out, const Epilogue& epilogue) = 0;
  virtual void do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) = 0;
  virtual void do_add(const Tensor& x, const Tensor& y) = 0;
  virtual void do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) = 0;
  virtual void do_pick(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) = 0;
  // logits: scratch, [rows, out_features of the head].
  virtual void do_best(const Tensor& x, const Linear& head, const Tensor& logits,
                       const Tensor& out) = 0;
  virtual void do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv,
                         const Epilogue& epilogue, const Tensor& out) = 0;
  virtual void do_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                            const AttentionShape& shape, const Tensor& scratch,
                            const Tensor& out) = 0;

 private:
  Arena arena_;
  std::vector<std::vector<Span>> strided_;
  std::size_t strided_used_ = 0;
};

// Whether an output head gets a filter beside it, by which Device::best reads less of it and finds
// the same tokens: where that is faster, never, or everywhere (tests).
enum class HeadFilterUse : std::uint8_t { kWhereFaster, kNever, kAlways };

struct DeviceOptions {
  int threads = 0;  // 0: one per physical core of the cpuset
  std::string isa;  // empty: the best table that runs here
  bool pin_threads = true;
  HeadFilterUse head_filter = HeadFilterUse::kWhereFaster;
};

struct DeviceFactory {
  const char* name;  // "cpu"
  int (*count)();    // 0 when the machine has none
  std::unique_ptr<Device> (*open)(int index, const DeviceOptions& options);
  // What DeviceOptions::isa may name on this machine, best first.
  std::vector<std::string> (*variants)();
};
std::span<const DeviceFactory* const> device_factories();  // device/registry.cc

// Opens "cpu" and the like; throws kNotFound listing what there is.
std::unique_ptr<Device> open_device(const std::string& name, const DeviceOptions& options);

}  // namespace verbatim
