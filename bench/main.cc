// verbatim-bench: measures what this build does on this machine.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "bench/commands.h"
#include "bench/model_flags.h"

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
  CLI11_PARSE(app, argc, argv);
  try {
    if (attention_command->parsed()) return verbatim::bench_attention(attention);
    if (model_command->parsed()) return verbatim::bench_model(model);
    return verbatim::bench_kernels(kernels);
  } catch (const verbatim::Error& error) {
    std::fprintf(stderr, "verbatim-bench: %s\n", error.what());
    return 1;
  }
}
