// Any bytes as config.json and, behind a zero byte, as the name of a layer: a refusal is an Error,
// and what is accepted has schemes that a reader can use.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "weights/quantization_config.h"

using namespace verbatim;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  const std::string_view name = zero == std::string_view::npos
                                    ? std::string_view("model.layers.0.self_attn.q_proj")
                                    : text.substr(zero + 1, 200);
  try {
    const boost::json::value json = parse_json(text.substr(0, zero), "config.json");
    const QuantizationConfig config = read_quantization_config(json, "config.json");
    const QuantScheme& scheme = config.scheme_of(name, config.method);
    check(scheme.bits == 4 || scheme.bits == 8, "codes have four or eight bits");
    check(scheme.strategy != ScaleStrategy::kGroup || scheme.group_size > 0 ||
              config.method == QuantMethod::kBitsAndBytes,
          "a group has input features");
  } catch (const Error&) {
    // A refusal by name is what bad files deserve.
  }
  return 0;
}
