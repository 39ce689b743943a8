// Candidates are weighed by the dry run that loading begins with.
#include "engine/auto_quant.h"

#include <array>

#include "base/cpu_topology.h"
#include "checkpoint/checkpoint.h"
#include "engine/placement.h"
#include "weights/quantization_config.h"

namespace verbatim {
namespace {

// By what was lost against dense weights: docs/perf.md, quality.
constexpr std::array kCandidates{"int8", "nf4", "int4"};

}  // namespace

Quantization chosen_quantization(const EngineOptions& options, const Checkpoint& checkpoint,
                                 const Family& family, const Device& device) {
  if (!options.auto_quant) return options.quant;
  const QuantizationConfig config =
      read_quantization_config(checkpoint.config(), checkpoint.config_file());
  if (config.method != QuantMethod::kNone) return options.quant;
  const std::size_t room =
      options.memory_limit_bytes > 0 ? options.memory_limit_bytes : cpu_topology().available_bytes;
  EngineOptions tried = options;
  tried.auto_quant = false;
  tried.memory_limit_bytes = 0;
  std::size_t bytes = 0;
  for (const char* const name : kCandidates) {
    tried.quant.decoder = weight_choice("--quant auto", name);
    bytes = place(tried, checkpoint, family, device).memory.total();
    if (bytes <= room) return tried.quant;
  }
  fail(Code::kExhausted,
       "--quant auto: %s takes %.1f MiB in %s with its context, more than the %.1f MiB that are %s",
       checkpoint.name().c_str(), static_cast<double>(bytes) / (1 << 20), kCandidates.back(),
       static_cast<double>(room) / (1 << 20),
       options.memory_limit_bytes > 0 ? "allowed by --memory-limit" : "available");
}

std::string quantization_text(const Quantization& quant) {
  if (!quant.any()) return "as stored";
  std::string text = quant.decoder ? quant.decoder.text() : "as stored";
  if (quant.encoder) text += ", encoder " + quant.encoder.text();
  if (quant.head) text += ", head " + quant.head.text();
  return text;
}

}  // namespace verbatim
