// Microphones by ALSA, whose library is loaded when one is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "audio/microphone.h"

namespace verbatim {

// A device as --device names it: "default", "hw:1,0", or one of asound.conf. Its own rate, unless
// it captures at this one. It captures from the first read on.
OpenedCapture open_alsa(const std::string& device, std::int32_t sample_rate_hz);

struct CaptureName {
  std::string name;
  std::string description;  // one line
};

struct CaptureNames {
  std::vector<CaptureName> devices;
  std::string problem;  // one sentence, where they cannot be listed
};

// The devices that capture, as ALSA lists them.
CaptureNames list_alsa();

}  // namespace verbatim
