// Memory is counted and reserved as addresses; nothing is touched.
#include "device/dry_device.h"

namespace verbatim {
namespace {

class DryWeight final : public DeviceWeight {};

// More than any shapes and any context ask for: a size too large is told as a sum that does not
// fit.
constexpr std::size_t kArenaAddresses = std::size_t{1} << 60;

}  // namespace

DryDevice::DryDevice(const Device& real) : real_(real) {
  set_arena(Arena(reserve_addresses(kArenaAddresses)));
}

Buffer DryDevice::allocate(std::size_t bytes) {
  vectors_bytes_ += bytes;
  return reserve_addresses(bytes == 0 ? 1 : bytes);
}

std::unique_ptr<DeviceWeight> DryDevice::prepare(const Weight& weight, Use use) {
  auto made = std::make_unique<DryWeight>();
  made->out_features = weight.out_features;
  made->in_features = weight.in_features;
  made->format = weight.format;
  made->bytes = real_.weight_bytes(weight, use);
  weights_bytes_ += made->bytes;
  return made;
}

}  // namespace verbatim
