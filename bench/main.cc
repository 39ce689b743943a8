// verbatim-bench: measures what this build does on this machine.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "bench/commands.h"
#include "bench/model_flags.h"

namespace {

CLI::App* declare_quality(CLI::App& app, verbatim::QualityBenchOptions& to) {
  CLI::App* command =
      app.add_subcommand("quality",
                         "What each format of the weights costs: words against what is said, "
                         "words and decisions against those of the weights as they are stored");
  command->add_option("--model", to.model, "a checkpoint folder; both nanos by default");
  command->add_option("recordings", to.recordings,
                      "recordings or folders of them, with what is said beside each as .json or "
                      ".txt; the model's samples by default");
  command
      ->add_option("--quant", to.formats, "formats of the decoder, comma separated; all by default")
      ->delimiter(',');
  command->add_option("--encoder-quant", to.encoder, "of the encoders, with each of them");
  command->add_option("--head-quant", to.head, "of the head, with each of them");
  command->add_option("--tokenizer", to.tokenizer, "a tokenizer.json for folders without one");
  command->add_option("--isa", to.isa, "as above");
  command->add_option("--kv", to.kv, "format of the caches: f16 or f32");
  command->add_option("--threads", to.threads, "one per physical core by default")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--json", to.json, "print JSON");
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures verbatim on this machine"};
  app.require_subcommand(1);
  verbatim::KernelBenchOptions kernels;
  CLI::App* command = app.add_subcommand(
      "kernels", "Each projection's share of a loop of multiply-adds or of a prefetched read");
  command->add_option("--isa", kernels.isa, "instruction set; the best that runs here by default");
  command->add_option("--format", kernels.formats, "weight formats, comma separated")
      ->delimiter(',');
  command->add_option("--threads", kernels.threads, "numbers of threads, comma separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command->add_option("--rows", kernels.rows, "row counts of the decoder's shapes alone")
      ->delimiter(',')
      ->check(CLI::Range(1, 512));
  command->add_option("--shape", kernels.shapes, "INxOUT, comma separated, with all rows")
      ->delimiter(',');
  command->add_option("--seconds", kernels.seconds, "time for each case")
      ->check(CLI::Range(0.01, 60.0));
  command->add_flag("--json", kernels.json, "print JSON");
  verbatim::AttentionBenchOptions attention;
  CLI::App* attention_command = app.add_subcommand(
      "attention", "Attention's share of the same ceilings, one KV head on one thread");
  attention_command->add_option("--isa", attention.isa, "as above");
  attention_command->add_option("--seconds", attention.seconds, "time for each case")
      ->check(CLI::Range(0.01, 60.0));
  verbatim::ModelBenchOptions model;
  CLI::App* model_command = verbatim::declare_model(app, model);
  verbatim::QualityBenchOptions quality;
  CLI::App* quality_command = declare_quality(app, quality);
  CLI11_PARSE(app, argc, argv);
  try {
    if (attention_command->parsed()) return verbatim::bench_attention(attention);
    if (model_command->parsed()) return verbatim::bench_model(model);
    if (quality_command->parsed()) return verbatim::bench_quality(quality);
    return verbatim::bench_kernels(kernels);
  } catch (const verbatim::Error& error) {
    std::fprintf(stderr, "verbatim-bench: %s\n", error.what());
    return 1;
  }
}
