// Any bytes as a safetensors file: an error that names the file, or tensors that lie inside it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "checkpoint/checkpoint.h"

namespace {

const verbatim::Container& safetensors() {
  for (const verbatim::Container* container : verbatim::containers()) {
    if (std::string_view(container->name) == "safetensors") return *container;
  }
  verbatim::fail(verbatim::Code::kInternal, "safetensors is not among the containers");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  try {
    for (const verbatim::RawTensor& tensor : safetensors().parse(bytes, "fuzz")) {
      const std::byte* end = bytes.data() + bytes.size();
      verbatim::check(
          tensor.bytes.data() >= bytes.data() && tensor.bytes.data() <= end &&
              tensor.bytes.size() <= static_cast<std::size_t>(end - tensor.bytes.data()),
          "a tensor lies inside its file");
    }
  } catch (const verbatim::Error&) {
    return 0;
  }
  return 0;
}
