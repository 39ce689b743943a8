// The containers this version reads, in the order in which a folder is tried against them.
#include <array>

#include "checkpoint/checkpoint.h"

namespace verbatim {

extern const Container kMistral;
extern const Container kSafetensors;

std::span<const Container* const> containers() {
  static constexpr std::array<const Container*, 2> kContainers{&kMistral, &kSafetensors};
  return kContainers;
}

}  // namespace verbatim
