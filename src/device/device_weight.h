// A weight as a device wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/tensor.h"
#include "weights/format.h"

namespace verbatim {

class DeviceWeight {
 public:
  virtual ~DeviceWeight() = default;
  std::string name;  // as the checkpoint spells it: profiles and errors use it
  std::int32_t out_features = 0;
  std::int32_t in_features = 0;
  const WeightFormat* format = nullptr;
  std::size_t bytes = 0;             // what it costs where it lives
  std::size_t projection_bytes = 0;  // of these, what a product reads
  std::size_t best_bytes = 0;        // and what finding a row's largest output reads at least
};

// A projection as a layer holds it: views into the model's WeightStore. A tied head is a second
// Linear on the table's DeviceWeight.
struct Linear {
  const DeviceWeight* weight = nullptr;
  Tensor bias;  // [1, out_features] or empty
};

// As a projection, as an embedding table, as an output head, that is a projection whose largest
// output is asked for as well, or as table and head; nothing is packed that is not used.
enum class Use : std::uint8_t { kProjection, kTable, kHead, kBoth };

constexpr bool is_table(Use use) {
  return use == Use::kTable || use == Use::kBoth;
}
constexpr bool is_head(Use use) {
  return use == Use::kHead || use == Use::kBoth;
}

}  // namespace verbatim
