// Flags of the engine and what they become.
#include "cli/engine_flags.h"

#include "base/error.h"
#include "base/interrupt.h"

namespace verbatim {

void declare_model(Flags& flags, EngineFlags& to) {
  flags.section("Model");
  flags.text(to.model, "--model", "DIR",
             (std::string("A checkpoint folder as published, with the original or the Hugging Face "
                          "names, or one of the bundled nano-vibevoice and nano-voxtral. Without "
                          "it ") +
              to.preset + ".")
                 .c_str());
  flags.text(to.tokenizer, "--tokenizer", "FILE",
             "A tokenizer.json to use in place of the folder's own. The Qwen2.5 tokenizer is "
             "bundled for folders that have none.");
}

void declare(Flags& flags, EngineFlags& to) {
  declare_model(flags, to);
  flags.section("Weights");
  flags.text(to.quant, "--quant", "FORMAT",
             "What the decoder's projections are made into as they are loaded: nf4, int4 or int8 "
             "(activations stay float), w8a8 or w4a8 (activations are rounded to int8, faster), "
             "int4:32 for groups of 32 in place of 128; ExecuTorch's 4w, 4w_hqq, 8w, 8w_hqq, "
             "8da4w, 8da8w. auto takes the first of int8, nf4 and int4 that fits in memory, and "
             "says which. Without the flag they stay as they are stored.");
  flags.choice(to.encoder, "--encoder", {"stored", "int8"},
               "int8: the audio encoders' projections and their activations as int8, that is "
               "--encoder-quant w8a8.");
  flags.text(to.encoder_quant, "--encoder-quant", "FORMAT",
             "The same as --quant for the audio encoders.");
  flags.text(to.head_quant, "--head-quant", "FORMAT", "The same as --quant for the output head.");
  flags.choice(
      to.head_filter, "--head-filter", {"on", "off"},
      "off: no int8 copy beside an output head of floats. With it tokens are found in half "
      "the time or less, and are the same ones.");
  flags.text(to.calib, "--calib", "FILE",
             "Statistics of this model's inputs that 'verbatim calibrate' wrote: where activations "
             "are rounded to int8, layers are smoothed by them first, which costs no time.");
  declare_machine(flags, to);
}

void declare_machine(Flags& flags, EngineFlags& to) {
  flags.section("Machine");
  flags.integer(to.threads, "--threads", "N", {1, 1024},
                "Threads that compute. Without it one per physical core of the cpuset. The result "
                "does not depend on it.");
  flags.text(to.isa, "--isa", "NAME",
             "The kernels to use, as 'verbatim devices' lists them. Without it the best that run "
             "here. The result does not depend on it.");
  flags.choice(to.kv, "--kv", {"f16", "f32"}, "How keys and values are kept.");
  flags.integer(to.max_context, "--max-context", "N", {1, 1 << 30},
                "Positions of the longest session. Without it sized from the audio.");
  flags.bytes(to.memory_limit_bytes, "--memory-limit",
              "Refuses before any work what needs more memory than this, with the sum.");
}

namespace {

Quantization quantization(const EngineFlags& flags) {
  Quantization made;
  if (flags.quant != "auto") made.decoder = weight_choice("--quant", flags.quant);
  made.encoder = weight_choice("--encoder-quant", flags.encoder_quant);
  made.head = weight_choice("--head-quant", flags.head_quant);
  if (flags.encoder != "int8") return made;
  if (made.encoder) {
    fail(Code::kInvalidArgument, "--encoder int8: expected no --encoder-quant beside it, found %s",
         flags.encoder_quant.c_str());
  }
  made.encoder = weight_choice("--encoder", "w8a8");
  return made;
}

}  // namespace

EngineOptions engine_options(const EngineFlags& flags) {
  const BundledFiles bundled = bundled_files(executable_folder());
  EngineOptions options;
  options.model = model_folder(flags.model, flags.preset, bundled);
  options.tokenizer = flags.tokenizer;
  options.fallback_tokenizer = bundled.tokenizer;
  options.threads = static_cast<int>(flags.threads);
  options.isa = flags.isa;
  options.kv = flags.kv;
  options.quant = quantization(flags);
  options.head_filter = flags.head_filter == "on";
  options.auto_quant = flags.quant == "auto";
  options.calibration = flags.calib;
  options.max_context = flags.max_context;
  options.memory_limit_bytes = flags.memory_limit_bytes;
  return options;
}

EngineOptions engine_options(const EngineFlags& flags, Terminal& terminal) {
  EngineOptions options = engine_options(flags);
  if (flags.model.empty()) terminal.notice(nano_notice(options.model));
  return options;
}

std::unique_ptr<Engine> load_engine(const EngineOptions& options, Terminal& terminal) {
  constexpr int kNoFile = -1;
  terminal.progress(kNoFile, options.model, {"load", 0, 0, 0});
  EngineOptions told = options;
  told.loading = [&](double share) {
    terminal.progress(kNoFile, options.model, {"load", share, 1, 0});
  };
  auto engine = std::make_unique<Engine>(told);
  if (is_interrupted())
    fail(Code::kCancelled, "%s: interrupted while it was loaded", options.model.c_str());
  terminal.leave(kNoFile);
  if (options.auto_quant) terminal.notice("--quant auto: " + engine->quantization());
  return engine;
}

}  // namespace verbatim
