// Binder walks a checkpoint the way the reference's modules are nested: each call checks name,
// shape and format, places the result on the device and keeps it in the model's WeightStore.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device/device.h"
#include "weights/calibration.h"
#include "weights/layout.h"
#include "weights/recipe.h"
#include "weights/scaling.h"

namespace verbatim {

class ThreadPool;

struct WeightStore {  // what a model owns
  std::vector<std::unique_ptr<const DeviceWeight>> weights;
  std::vector<Buffer> vectors;
};

// A projection before it is made into what was chosen.
struct MadeWeight {
  const std::string& name;
  const Weight& stored;
  const WeightChoice& choice;
  const Scaling& scaling;
};

struct BindOptions {
  ThreadPool* workers = nullptr;  // make weights into other formats; null: the caller alone
  std::function<void(double share)> progress;  // of the checkpoint's bytes that were bound
  // Not empty: layers whose activations are rounded to int8 are smoothed by it.
  Calibration calibration;
  bool smooths_all = false;  // the others too, which changes no bit: what tests compare
  std::function<void(const MadeWeight& weight)> making;  // shown all for which there is a choice
};

struct NamedRows {  // a projection of a layer
  std::string_view name;
  std::int32_t out = 0;
};

// Of every input feature, for channel_scales.
struct ChannelRanges {
  std::vector<float> inputs;             // the largest |x|
  std::vector<float> weights;            // the largest |w|
  const WeightFormat* format = nullptr;  // that the weights are made into
};

class Binder {
 public:
  Binder(const Checkpoint& checkpoint, Device& device, WeightStore& store,
         const BindOptions& options = {});
  ~Binder();
  Binder(const Binder&) = default;

  Binder at(std::string_view child) const;             // "model" -> "model.layers"
  Binder at(std::string_view child, int index) const;  // "layers" -> "layers.3"
  // The same scope; projections and dense convolutions below it are made into what was chosen.
  // Where nothing was, they stay as they are stored.
  Binder made_into(const WeightChoice& choice) const;
  Binder as_head() const;  // the same scope; a projection below it is the output head
  // With a scaling its bias is divided as the rows are.
  Linear linear(std::string_view name, std::int32_t out, std::int32_t in, bool bias = false,
                const Scaling& scaling = {}) const;
  // What projections that read one tensor of `in` features have to be scaled by; none where the
  // scope is not to be smoothed, or where nobody looks at bytes. Throws what Calibration::range
  // does.
  std::optional<ChannelRanges> channel_ranges(std::initializer_list<NamedRows> readers,
                                              std::int32_t in) const;
  const DeviceWeight* table(std::string_view name, std::int32_t rows, std::int32_t cols,
                            Use use) const;
  // weight [out, in / groups, kernel] in the file; state grows by what the layer keeps.
  Conv1d conv(std::string_view name, std::int32_t out, std::int32_t in, std::int32_t kernel,
              std::int32_t stride, std::int32_t groups, std::int64_t& state) const;
  // Widened to float32 and divided, where divisors are given.
  Tensor vector(std::string_view name, std::int32_t size,
                std::span<const float> divisors = {}) const;
  // A small tensor that is wanted here, widened to float32.
  std::vector<float> values(std::string_view name, const std::vector<std::int64_t>& shape) const;
  // The rows [out, in] of a small linear that is computed here, as the scope's choice has them.
  std::vector<float> linear_values(std::string_view name, std::int32_t out, std::int32_t in) const;
  // Computed rows of `cols` values as the model's own.
  Tensor place(const std::vector<float>& values, std::int32_t cols) const;
  bool has(std::string_view name) const;           // a tensor of this full name below the scope
  void ignore(std::string_view prefix) const;      // known and not needed: everything below it
  void finish() const;                             // throws for the first tensor nobody asked for
  std::int64_t parameters() const;                 // of everything bound so far
  std::vector<std::string> formats() const;        // of the weights bound so far
  std::string name(std::string_view child) const;  // "model.layers.3.self_attn.q_proj"

 private:
  struct State;
  const RawTensor& claim(const std::string& name) const;
  Weight read(const std::string& prefix, std::int32_t out, std::int32_t in,
              WeightStorage& storage) const;
  const DeviceWeight* place(const Weight& weight, const std::string& name, Use use) const;
  // The weight scaled, and as the scope's choice wants it.
  Weight made(const Weight& dense, const std::string& name, const Scaling& scaling,
              WeightStorage& storage) const;

  const Checkpoint& checkpoint_;
  Device& device_;
  WeightStore& store_;
  std::shared_ptr<State> state_;  // one walk, many scopes
  std::string scope_;
  WeightChoice choice_;
  Use use_ = Use::kProjection;  // of projections
};

}  // namespace verbatim
