// verbatim quantize: a checkpoint whose weights are stored as --quant makes them.
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/flags.h"
#include "cli/model_folder.h"
#include "cli/results.h"
#include "cli/stats.h"
#include "cli/terminal.h"
#include "engine/quantize.h"

namespace verbatim {
namespace {

constexpr int kNoFile = -1;

struct QuantizeFlags {
  std::string model;
  std::string tokenizer;
  std::string quant;
  std::string output;
  std::int64_t threads = 0;
  bool json = false;
  bool quiet = false;
};

Flags declared(QuantizeFlags& to) {
  Flags flags(
      "verbatim quantize --quant FORMAT --output DIR [FLAGS]",
      "Writes a checkpoint whose decoder is stored as --quant of the other commands makes it "
      "at load, to the bit, so that loading it takes no work and less memory. It needs no "
      "--quant, and other programs read it too.");
  flags.section("Model");
  flags.text(to.model, "--model", "DIR",
             (std::string("A dense checkpoint folder as published, with the original or the "
                          "Hugging Face names, or one of the bundled nano-vibevoice and "
                          "nano-voxtral. Without it ") +
              kNanoVibeVoice + ".")
                 .c_str());
  flags.text(to.tokenizer, "--tokenizer", "FILE",
             "A tokenizer.json for a folder that has none. It is not copied.");
  flags.section("Weights");
  flags.text(to.quant, "--quant", "FORMAT",
             "nf4, stored as bitsandbytes does; int4, int8, w8a8 or w4a8, stored as "
             "compressed-tensors does; int4:32 for groups of 32 in place of 128.");
  flags.section("Output");
  flags.text(to.output, "--output", "DIR",
             "The folder to write, a new or an empty one. It appears whole or not at all, with the "
             "tokenizer and the other small files of the model's.");
  flags.toggle(to.json, "--json", "Prints what was written as one JSON object.");
  flags.toggle(to.quiet, "--quiet", "No progress.");
  flags.section("Machine");
  flags.integer(to.threads, "--threads", "N", {1, 1024},
                "Threads that compute. Without it one per physical core of the cpuset. The result "
                "does not depend on it.");
  flags.footer(
      "Exit codes: 0, 1 it cannot be read or written, 2 the command line is wrong, 130 "
      "interrupted.\n\n"
      "Example:\n  verbatim quantize --model ./VibeVoice-ASR --quant int4 --output "
      "./VibeVoice-ASR-int4\n");
  return flags;
}

std::string done_json(const QuantizeFlags& flags, const QuantizedCheckpoint& done) {
  return "{\"folder\":" + json_string(flags.output) + ",\"quant\":" + json_string(flags.quant) +
         ",\"layout\":" + json_string(done.layout) +
         ",\"weights\":" + std::to_string(done.weights) +
         ",\"files\":" + std::to_string(done.files) +
         ",\"read_bytes\":" + std::to_string(done.read_bytes) +
         ",\"written_bytes\":" + std::to_string(done.written_bytes) + "}\n";
}

std::string done_text(const QuantizeFlags& flags, const QuantizedCheckpoint& done) {
  return formatted("%s: %zu weights in %s, stored as %s; %s of tensors, %s before\n",
                   flags.output.c_str(), done.weights, flags.quant.c_str(), done.layout.c_str(),
                   size_text(static_cast<double>(done.written_bytes)).c_str(),
                   size_text(static_cast<double>(done.read_bytes)).c_str());
}

int run(std::span<const char* const> arguments) {
  QuantizeFlags given;
  Flags flags = declared(given);
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  if (given.quant.empty())
    fail(Code::kInvalidArgument, "--quant: expected a format, found nothing; see --help");
  const BundledFiles bundled = bundled_files(executable_folder());
  Terminal terminal(standard_terminal(given.quiet));
  EngineOptions options;
  options.model = model_folder(given.model, kNanoVibeVoice, bundled);
  options.tokenizer = given.tokenizer;
  options.fallback_tokenizer = bundled.tokenizer;
  options.threads = static_cast<int>(given.threads);
  options.quant.decoder = weight_choice("--quant", given.quant);
  options.loading = [&](double share) {
    terminal.progress(kNoFile, options.model, {"quantize", share, 1, 0});
  };
  if (given.model.empty()) terminal.notice(nano_notice(options.model));
  const QuantizedCheckpoint done = quantize_checkpoint(options, given.output);
  terminal.leave(kNoFile);
  write_stdout(given.json ? done_json(given, done) : done_text(given, done));
  return kExitWhole;
}

}  // namespace

const Command kQuantizeCommand{"quantize", "a checkpoint stored as --quant makes it", run};

}  // namespace verbatim
