// verbatim info: what a checkpoint is and what it takes to run it.
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/exit_codes.h"
#include "cli/results.h"
#include "cli/stats.h"
#include "engine/describe.h"

namespace verbatim {
namespace {

// Digits alone are a number.
std::string value_json(const std::string& value) {
  const bool is_number = !value.empty() && value.size() < 16 &&
                         value.find_first_not_of("0123456789") == std::string::npos &&
                         (value == "0" || value[0] != '0');
  return is_number ? value : json_string(value);
}

std::string info_json(const ModelDescription& model) {
  std::string sizes;
  for (const auto& [name, value] : model.sizes)
    sizes += (sizes.empty() ? "" : ",") + json_string(name) + ":" + value_json(value);
  std::string formats;
  for (const std::string& format : model.formats)
    formats += (formats.empty() ? "" : ",") + json_string(format);
  return "{\"family\":" + json_string(model.family) + ",\"name\":" + json_string(model.name) +
         ",\"folder\":" + json_string(model.folder) + ",\"layout\":" + json_string(model.layout) +
         ",\"sizes\":{" + sizes + "},\"formats\":[" + formats +
         "],\"quantization\":" + json_string(model.quantization) +
         ",\"parameters\":" + std::to_string(model.parameters) +
         ",\"max_context\":" + std::to_string(model.max_context) +
         ",\"audio_tokens_per_s\":" + json_number(model.audio_tokens_per_s) +
         ",\"sample_rate_hz\":" + std::to_string(model.sample_rate_hz) +
         ",\"weights_bytes\":" + std::to_string(model.weights_bytes) +
         ",\"kv_bytes_per_minute\":" + json_number(model.kv_bytes_per_minute) +
         ",\"kv_bytes\":" + std::to_string(model.kv_bytes) +
         ",\"arena_bytes\":" + std::to_string(model.arena_bytes) +
         ",\"context\":" + std::to_string(model.context) +
         ",\"tokenizer\":" + json_string(model.tokenizer) +
         ",\"tokenizer_size\":" + std::to_string(model.tokenizer_size) +
         ",\"vocab_size\":" + std::to_string(model.vocab_size) +
         ",\"device\":" + json_string(model.device) + "}\n";
}

std::string info_text(const ModelDescription& model) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += formatted("%-22s %s\n", name, value.c_str());
  };
  line("name", model.name);
  line("family", model.family);
  line("folder", model.folder);
  line("layout", model.layout);
  line("parameters", std::to_string(model.parameters));
  std::string formats;
  for (const std::string& format : model.formats) append_listed(formats, format);
  line("weight formats", formats);
  line("made into", model.quantization);
  line("longest context", formatted("%lld positions", static_cast<long long>(model.max_context)));
  line("audio",
       formatted("%d Hz, %g positions a second", model.sample_rate_hz, model.audio_tokens_per_s));
  line("device", model.device);
  line("memory of weights", size_text(static_cast<double>(model.weights_bytes)));
  line("kv per minute", size_text(model.kv_bytes_per_minute));
  line("kv at most", size_text(static_cast<double>(model.kv_bytes)) +
                         formatted(", %lld positions", static_cast<long long>(model.context)));
  line("arena", size_text(static_cast<double>(model.arena_bytes)));
  line("tokenizer", formatted("%s (%d strings for %d rows)", model.tokenizer.c_str(),
                              model.tokenizer_size, model.vocab_size));
  for (const auto& [name, value] : model.sizes) line(name.c_str(), value);
  return text;
}

int run(std::span<const char* const> arguments) {
  EngineFlags given;
  bool json = false;
  Flags flags(
      "verbatim info [FLAGS]",
      "Reads and checks a checkpoint as loading does, and tells what it is and what memory it "
      "takes at the chosen options. Refuses with the same errors.");
  declare(flags, given);
  flags.section("Output");
  flags.toggle(json, "--json", "Prints one JSON object.");
  flags.footer(
      "Exit codes: 0, 1 the checkpoint cannot be run, 2 the command line is wrong.\n\n"
      "Examples:\n  verbatim info --model ./VibeVoice-ASR --kv f32\n  verbatim info --json\n");
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  const ModelDescription model = describe_model(engine_options(given));
  write_stdout(json ? info_json(model) : info_text(model));
  return kExitWhole;
}

}  // namespace

const Command kInfoCommand{"info", "what a checkpoint is and what memory it takes", run};

}  // namespace verbatim
