// One walk over a checkpoint: what was asked for, and what nobody asked for.
#include "nn/binder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/interrupt.h"
#include "base/log.h"
#include "tensor/half.h"
#include "weights/quantize.h"

namespace verbatim {

struct Binder::State {
  BindOptions options;
  double all_bytes = 0;
  double bound_bytes = 0;
  std::set<std::string, std::less<>> claimed;
  std::vector<std::string> ignored;
  std::set<std::string> formats;
  std::map<std::string, std::int32_t, std::less<>> projections;  // in_features by name
  bool is_smoothed = false;                                      // a scope asked for it
  bool is_scaled = false;                                        // and some input was worth it
  std::int64_t parameters = 0;
};

namespace {

// A raw float tensor widened to float32.
std::vector<float> widened(const RawTensor& raw) {
  const auto count = raw.bytes.size() / static_cast<std::size_t>(raw_type_bytes(raw.type));
  std::vector<float> values(count);
  if (raw.type == RawType::kF32) {
    std::memcpy(values.data(), raw.bytes.data(), raw.bytes.size());
    return values;
  }
  if (raw.type != RawType::kF16 && raw.type != RawType::kBF16) {
    fail(Code::kUnsupported, "%s: expected F32, F16 or BF16, found %s in %s", raw.name.c_str(),
         raw_type_name(raw.type), raw.file.c_str());
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, raw.bytes.data() + 2 * i, 2);
    values[i] = raw.type == RawType::kF16 ? from_f16(bits) : from_bf16(bits);
  }
  return values;
}

// Each value is the larger of both.
void raise_to(std::vector<float>& values, std::span<const float> others) {
  values.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) values[i] = std::max(values[i], others[i]);
}

void check_shape(const RawTensor& raw, const std::vector<std::int64_t>& expected) {
  if (raw.shape == expected) return;
  fail(Code::kCorrupt, "%s: expected %s, found %s in %s", raw.name.c_str(),
       shape_text(expected).c_str(), shape_text(raw.shape).c_str(), raw.file.c_str());
}

// [out, in / groups, kernel] as [out, kernel, in / groups], element by element.
std::vector<std::byte> taps_first(const RawTensor& raw) {
  const std::int64_t out = raw.shape[0], in = raw.shape[1], kernel = raw.shape[2];
  const auto size = static_cast<std::size_t>(raw_type_bytes(raw.type));
  std::vector<std::byte> bytes(raw.bytes.size());
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) {
      for (std::int64_t k = 0; k < kernel; ++k) {
        std::memcpy(bytes.data() + static_cast<std::size_t>((o * kernel + k) * in + i) * size,
                    raw.bytes.data() + static_cast<std::size_t>((o * in + i) * kernel + k) * size,
                    size);
      }
    }
  }
  return bytes;
}

const WeightFormat& dense_format(const RawTensor& raw) {
  switch (raw.type) {
    case RawType::kF32:
      return kFormatF32;
    case RawType::kF16:
      return kFormatF16;
    case RawType::kBF16:
      return kFormatBF16;
    default:
      fail(Code::kUnsupported, "%s: expected F32, F16 or BF16, found %s in %s", raw.name.c_str(),
           raw_type_name(raw.type), raw.file.c_str());
  }
}

}  // namespace

Binder::Binder(const Checkpoint& checkpoint, Device& device, WeightStore& store,
               const BindOptions& options)
    : checkpoint_(checkpoint), device_(device), store_(store), state_(std::make_shared<State>()) {
  state_->options = options;
  for (const RawTensor& raw : checkpoint.tensors())
    state_->all_bytes += static_cast<double>(raw.bytes.size());
}

Binder::~Binder() = default;

Binder Binder::at(std::string_view child) const {
  Binder inner = *this;
  inner.scope_ = name(child);
  return inner;
}

Binder Binder::at(std::string_view child, int index) const {
  Binder inner = at(child);
  inner.scope_ += formatted(".%d", index);
  return inner;
}

std::string Binder::name(std::string_view child) const {
  std::string full = scope_;
  if (!full.empty() && !child.empty()) full += '.';
  full += child;
  return full;
}

bool Binder::has(std::string_view child) const {
  return checkpoint_.find(name(child)) != nullptr;
}

Weight Binder::read(const std::string& prefix, std::int32_t out, std::int32_t in,
                    WeightStorage& storage) const {
  storage.workers = state_->options.workers;
  storage.with_codes = device_.needs_bytes();
  const Weight weight =
      recognise_layout(checkpoint_, prefix).read(checkpoint_, prefix, out, in, storage);
  for (const RawTensor* raw : storage.tensors) claim(raw->name);
  return weight;
}

const RawTensor& Binder::claim(const std::string& name) const {
  // Placing the weights of a large checkpoint takes minutes.
  if (is_interrupted())
    fail(Code::kCancelled, "%s: interrupted while it was loaded", checkpoint_.folder().c_str());
  const RawTensor& raw = checkpoint_.tensor(name);
  if (state_->claimed.insert(name).second) {
    state_->parameters += static_cast<std::int64_t>(raw.bytes.size()) / raw_type_bytes(raw.type);
    state_->bound_bytes += static_cast<double>(raw.bytes.size());
    if (state_->options.progress) state_->options.progress(state_->bound_bytes / state_->all_bytes);
  }
  return raw;
}

const DeviceWeight* Binder::place(const Weight& weight, const std::string& name, Use use) const {
  std::unique_ptr<DeviceWeight> made = device_.prepare(weight, use);
  made->name = name;
  state_->formats.insert(weight.format->name);
  store_.weights.push_back(std::move(made));
  return store_.weights.back().get();
}

Tensor Binder::place(const std::vector<float>& values, std::int32_t cols) const {
  store_.vectors.push_back(device_.allocate(values.size() * sizeof(float)));
  Tensor placed;
  placed.data = store_.vectors.back().data();
  placed.rows = static_cast<std::int64_t>(values.size()) / cols;
  placed.cols = cols;
  placed.stride = cols;
  placed.memory = store_.vectors.back().memory();
  device_.upload(placed, std::as_bytes(std::span(values)));
  return placed;
}

std::vector<float> Binder::values(std::string_view child,
                                  const std::vector<std::int64_t>& shape) const {
  const RawTensor& raw = claim(name(child));
  check_shape(raw, shape);
  return widened(raw);
}

std::vector<float> Binder::linear_values(std::string_view child, std::int32_t out,
                                         std::int32_t in) const {
  std::vector<float> rows = at(child).values("weight", {out, in});
  if (!choice_ || choice_.recipe->reach != Reach::kLinears) return rows;
  const Weight dense = dense_weight(kFormatF32, std::as_bytes(std::span(rows)), out, in);
  WeightStorage storage;
  const Weight made = quantize(dense, choice_, name(child), storage, state_->options.workers);
  const auto width = static_cast<std::size_t>(in);
  for (std::int32_t r = 0; r < out; ++r) {
    made.format->decode_row(made, r,
                            std::span(rows).subspan(static_cast<std::size_t>(r) * width, width));
  }
  return rows;
}

Tensor Binder::vector(std::string_view child, std::int32_t size,
                      std::span<const float> divisors) const {
  std::vector<float> rows = values(child, {size});
  for (std::size_t i = 0; i < divisors.size(); ++i) rows[i] /= divisors[i];
  return place(rows, size);
}

Binder Binder::as_head() const {
  Binder inner = *this;
  inner.use_ = Use::kHead;
  return inner;
}

Binder Binder::made_into(const WeightChoice& choice) const {
  Binder inner = *this;
  inner.choice_ = choice;
  return inner;
}

std::optional<ChannelRanges> Binder::channel_ranges(std::initializer_list<NamedRows> readers,
                                                    std::int32_t in) const {
  const BindOptions& options = state_->options;
  if (options.calibration.empty() || !(rounds_rows(choice_) || options.smooths_all)) return {};
  state_->is_smoothed = true;
  ChannelRanges made;
  if (choice_) made.format = choice_.recipe->format;
  for (const NamedRows& reader : readers) {
    const std::string prefix = name(reader.name);
    raise_to(made.inputs, options.calibration.range(prefix, in));
    if (!device_.needs_bytes() && !options.making) continue;
    WeightStorage storage;
    raise_to(made.weights, column_maxima(read(prefix, reader.out, in, storage), options.workers));
  }
  if (made.weights.empty()) return {};
  return made;
}

Weight Binder::made(const Weight& dense, const std::string& name, const Scaling& scaling,
                    WeightStorage& storage) const {
  const BindOptions& options = state_->options;
  if (!choice_ && scaling.empty()) return dense;
  Weight shape = choice_ ? quantized_shape(dense, choice_, name) : dense;
  if (choice_ && options.making) options.making({name, dense, choice_, scaling});
  if (!device_.needs_bytes()) return shape;
  Weight scaled = dense;
  if (!scaling.empty()) {
    scaled = scaled_weight(dense, scaling, storage, options.workers);
    state_->is_scaled = true;
  }
  return choice_ ? quantize(scaled, choice_, name, storage, options.workers) : scaled;
}

Linear Binder::linear(std::string_view child, std::int32_t out, std::int32_t in, bool bias,
                      const Scaling& scaling) const {
  const std::string prefix = name(child);
  Linear made;
  WeightStorage storage;
  state_->projections[prefix] = in;
  const Weight stored = read(prefix, out, in, storage);
  made.weight = place(this->made(stored, prefix, scaling, storage), prefix, use_);
  for (const RawTensor* raw : storage.tensors) checkpoint_.release(*raw);
  if (bias) made.bias = at(child).vector("bias", out, scaling.rows);
  return made;
}

const DeviceWeight* Binder::table(std::string_view child, std::int32_t rows, std::int32_t cols,
                                  Use use) const {
  const std::string prefix = name(child);
  WeightStorage storage;
  if (use != Use::kTable) state_->projections[prefix] = cols;
  const DeviceWeight* made = place(read(prefix, rows, cols, storage), prefix, use);
  for (const RawTensor* raw : storage.tensors) checkpoint_.release(*raw);
  return made;
}

Conv1d Binder::conv(std::string_view child, std::int32_t out, std::int32_t in, std::int32_t kernel,
                    std::int32_t stride, std::int32_t groups, std::int64_t& state) const {
  const Binder here = at(child);
  const RawTensor& raw = claim(here.name("weight"));
  check_shape(raw, {out, in / groups, kernel});
  Conv1d made;
  made.in_channels = in;
  made.kernel = kernel;
  made.stride = stride;
  made.groups = groups;
  made.state = state;
  state += std::int64_t{kernel - stride} * in;
  if (groups == 1) {
    const std::vector<std::byte> bytes = taps_first(raw);
    WeightStorage storage;
    Weight taps = dense_weight(dense_format(raw), bytes, out, kernel * in);
    if (choice_ && choice_.recipe->reach == Reach::kProjections)
      taps = this->made(taps, here.scope_, {}, storage);
    made.linear.weight = place(taps, here.scope_, Use::kProjection);
  } else {
    // Few values and one kernel: depthwise taps are always float32.
    const std::vector<float> values = widened(raw);
    made.linear.weight =
        place(dense_weight(kFormatF32, std::as_bytes(std::span(values)), out, kernel), here.scope_,
              Use::kProjection);
  }
  checkpoint_.release(raw);
  made.linear.bias = here.vector("bias", out);
  return made;
}

void Binder::ignore(std::string_view prefix) const {
  state_->ignored.emplace_back(name(prefix));
}

void Binder::finish() const {
  for (const RawTensor& raw : checkpoint_.tensors()) {
    if (state_->claimed.count(raw.name) != 0) continue;
    const bool known =
        std::any_of(state_->ignored.begin(), state_->ignored.end(),
                    [&](const std::string& front) { return raw.name.starts_with(front); });
    if (known) continue;
    fail(Code::kUnsupported, "%s in %s: a tensor that this model has no place for (%s, %s)",
         raw.name.c_str(), raw.file.c_str(), raw_type_name(raw.type),
         shape_text(raw.shape).c_str());
  }
  const Calibration& calibration = state_->options.calibration;
  if (calibration.empty()) return;
  if (!state_->is_smoothed) {
    fail(Code::kInvalidArgument,
         "--calib %s: expected a --quant (or --encoder-quant of an encoder with attention) that "
         "rounds activations to int8: %s; nothing here does",
         calibration.file.c_str(), rounding_recipes().c_str());
  }
  calibration.check_weights(state_->projections);
  if (device_.needs_bytes() && !state_->is_scaled) {
    log(Level::kWarn, "--calib %s: no layer is smoothed: none of their inputs has such outliers",
        calibration.file.c_str());
  }
}

std::int64_t Binder::parameters() const {
  return state_->parameters;
}

std::vector<std::string> Binder::formats() const {
  return {state_->formats.begin(), state_->formats.end()};
}

}  // namespace verbatim
