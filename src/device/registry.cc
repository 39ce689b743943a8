// The devices this build knows, best first. A device is one folder and one line here.
#include <array>

#include "device/device.h"

namespace verbatim {

extern const DeviceFactory kCpuDevice;

std::span<const DeviceFactory* const> device_factories() {
  static constexpr std::array<const DeviceFactory*, 1> kFactories{&kCpuDevice};
  return kFactories;
}

}  // namespace verbatim
