// For tests: weights and rows with the same random values on every device.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "weights/test_values.h"

namespace verbatim {

// Values as they are once a dense format has kept them.
inline std::vector<float> rounded(const WeightFormat& format, std::span<const float> values) {
  const std::vector<std::byte> bytes = stored(format, values);
  std::vector<float> made(values.size());
  const auto width = static_cast<std::int32_t>(values.size());
  format.decode_row(dense_weight(format, bytes, 1, width), 0, made);
  return made;
}

// Owns what it places.
class TestPlace {
 public:
  TestPlace(Device& device, std::uint32_t seed) : device_(device), values_(seed) {}

  Tensor rows(std::span<const float> values, std::int64_t rows) {
    Tensor placed = host_rows(values, rows);
    buffers_.push_back(device_.allocate(values.size_bytes()));
    placed.data = buffers_.back().data();
    placed.memory = buffers_.back().memory();
    device_.upload(placed, std::as_bytes(values));
    return placed;
  }
  Tensor rows(std::int64_t count, std::int64_t cols, float scale = 1.0F, float middle = 0.0F) {
    return rows(values_.uniforms(count * cols, scale, middle), count);
  }
  const DeviceWeight* weight(const WeightFormat& format, std::span<const float> values,
                             std::int32_t out, Use use = Use::kProjection) {
    const auto in = static_cast<std::int32_t>(values.size()) / out;
    const std::vector<std::byte> bytes = stored(format, values);
    weights_.push_back(device_.prepare(dense_weight(format, bytes, out, in), use));
    return weights_.back().get();
  }
  Linear linear(const WeightFormat& format, std::int32_t out, std::int32_t in, bool bias,
                Use use = Use::kProjection) {
    const float scale = 2.0F / __builtin_sqrtf(static_cast<float>(in));
    Linear made;
    made.weight = weight(format, values_.uniforms(std::int64_t{out} * in, scale), out, use);
    if (bias) made.bias = rows(1, out, 0.3F);
    return made;
  }
  Conv1d conv(const WeightFormat& format, std::int32_t out, std::int32_t in, std::int32_t kernel,
              std::int32_t stride, std::int64_t& state, bool depthwise = false) {
    Conv1d made;
    made.in_channels = in;
    made.kernel = kernel;
    made.stride = stride;
    made.groups = depthwise ? in : 1;
    made.state = state;
    state += std::int64_t{made.context()} * in;
    made.linear = linear(depthwise ? kFormatF32 : format, out, kernel * (depthwise ? 1 : in), true);
    return made;
  }
  std::size_t weight_bytes() const {
    std::size_t sum = 0;
    for (const auto& each : weights_) sum += each->bytes;
    return sum;
  }

 private:
  Device& device_;
  TestValues values_;
  std::vector<std::unique_ptr<const DeviceWeight>> weights_;
  std::vector<Buffer> buffers_;
};

}  // namespace verbatim
