// verbatim-bench model: what a whole model's passes take, beside floors from the peaks of the same
// process and beside their kernels alone. All are interleaved; medians and minima are printed.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/commands.h"
#include "bench/model_bench.h"
#include "bench/model_report.h"

namespace verbatim {
namespace {

// What ops took since an earlier look at the stopwatch.
void add_difference(const std::vector<OpTime>& before, const std::vector<OpTime>& after,
                    std::vector<OpTime>& to) {
  const auto find = [](auto& in, const OpTime& like) {
    return std::find_if(in.begin(), in.end(), [&](const OpTime& each) {
      return each.op == like.op && each.name == like.name;
    });
  };
  for (OpTime spent : after) {
    if (const auto was = find(before, spent); was != before.end()) {
      spent.calls -= was->calls;
      spent.seconds -= was->seconds;
    }
    if (spent.calls == 0) continue;
    if (const auto known = find(to, spent); known != to.end()) {
      known->calls += spent.calls;
      known->seconds += spent.seconds;
    } else {
      to.push_back(spent);
    }
  }
}

Report measure(ModelBench& bench, int rounds) {
  Report report;
  report.bench = &bench;
  for (const ModelPass& pass : bench.passes()) {
    report.passes.emplace_back().pass = &pass;
    bench.run(pass);  // what the first run alone does is not what is asked for
  }
  for (int round = 0; round < rounds; ++round) {
    for (Measured& each : report.passes) {
      report.peaks.push_back(bench.peaks());
      const std::vector<OpTime> before = bench.times();
      each.seconds.push_back(bench.run(*each.pass));
      each.floors.push_back(each.pass->floor_s(report.peaks.back()));
      add_difference(before, bench.times(), each.times);
      const ReplayTimes kernels = bench.run_kernels(*each.pass);
      each.projections.push_back(kernels.projections_s);
      each.kernels.push_back(kernels.sum_s());
    }
  }
  return report;
}

Quantization quantization(const ModelBenchOptions& options) {
  Quantization made;
  made.decoder = weight_choice("--quant", options.quant);
  made.encoder = weight_choice("--encoder-quant", options.encoder_quant);
  made.head = weight_choice("--head-quant", options.head_quant);
  if (options.encoder == "stored") return made;
  if (options.encoder != "int8") {
    fail(Code::kInvalidArgument, "--encoder: expected stored or int8, found '%s'",
         options.encoder.c_str());
  }
  if (made.encoder) {
    fail(Code::kInvalidArgument, "--encoder int8: expected no --encoder-quant beside it, found %s",
         options.encoder_quant.c_str());
  }
  made.encoder = weight_choice("--encoder", "w8a8");
  return made;
}

// The shape with what the options say is to be measured of it.
ModelShape narrowed(const ModelBenchOptions& options) {
  ModelShape shape = model_shape(options.shape);
  if (!options.contexts.empty()) shape.contexts = options.contexts;
  if (!options.encode_s.empty()) shape.encode_s = options.encode_s;
  if (!options.prompts.empty()) shape.prompts = options.prompts;
  if (options.passes.empty()) return shape;
  const std::vector<std::string> known{"encode", "prompt", "step", "turn"};
  for (const std::string& each : options.passes) {
    if (std::find(known.begin(), known.end(), each) != known.end()) continue;
    fail(Code::kInvalidArgument, "--pass: expected some of encode, prompt, step, turn, found '%s'",
         each.c_str());
  }
  const auto is_left_out = [&](const char* kind) {
    return std::find(options.passes.begin(), options.passes.end(), kind) == options.passes.end();
  };
  if (is_left_out("encode")) shape.encode_s.clear();
  if (is_left_out("prompt")) shape.prompts.clear();
  if (is_left_out("step")) shape.contexts.clear();
  if (is_left_out("turn")) shape.turns.clear();
  return shape;
}

}  // namespace

int bench_model(const ModelBenchOptions& options) {
  ModelBenchSetup setup;
  setup.isa = options.isa;
  setup.threads = options.threads;
  setup.kv = options.kv;
  setup.quant = quantization(options);
  setup.head_filter = options.head_filter == "on";
  setup.profile = options.profile;
  ModelBench bench(narrowed(options), setup);
  // Making the weights may take a minute.
  std::fprintf(stderr, "%s: loaded in %.1f s\n", options.shape.c_str(), bench.loaded().seconds);
  const Report report = measure(bench, options.rounds);
  if (options.json) {
    print_json(report, options);
  } else {
    print_text(report, options);
  }
  return 0;
}

}  // namespace verbatim
