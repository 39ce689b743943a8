// Names and limits of the flags.
#include "bench/model_flags.h"

#include <string>

#include "base/error.h"
#include "bench/model_shapes.h"

namespace verbatim {

CLI::App* declare_model(CLI::App& app, ModelBenchOptions& to) {
  std::string shapes;
  for (const ModelShape& shape : model_shapes()) append_listed(shapes, shape.name);
  CLI::App* command = app.add_subcommand(
      "model",
      "A whole model with random weights of a published shape: each pass beside its floor and "
      "beside its kernels alone");
  command->add_option("--shape", to.shape, shapes)->required();
  command->add_option("--quant", to.quant, "format of the decoder's projections, as 'verbatim'");
  command->add_option("--encoder", to.encoder, "stored or int8");
  command->add_option("--encoder-quant", to.encoder_quant, "the same as --quant for the encoders");
  command->add_option("--head-quant", to.head_quant, "the same as --quant for the head");
  command->add_option("--head-filter", to.head_filter, "off: no int8 copy beside a dense head")
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--isa", to.isa, "as above");
  command->add_option("--threads", to.threads, "one per physical core by default")
      ->check(CLI::Range(1, 1024));
  command->add_option("--kv", to.kv, "format of the caches: f16 or f32");
  command->add_option("--rounds", to.rounds, "times that every pass is run, interleaved")
      ->check(CLI::Range(1, 10000));
  command
      ->add_option("--pass", to.passes,
                   "those of encode, prompt, step and turn that are measured, comma separated")
      ->delimiter(',');
  command->add_option("--encode", to.encode_s, "seconds of an encoder pass, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(0.01, 600.0));
  command->add_option("--prompt", to.prompts, "rows of a prompt, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--context", to.contexts, "positions before a step, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 20));
  command->add_flag("--profile", to.profile, "the time and the floor of every operation");
  command->add_flag("--json", to.json, "print JSON");
  return command;
}

}  // namespace verbatim
