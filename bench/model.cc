// verbatim-bench model: what a whole model's passes take, beside floors from the peaks of the same
// process. Passes and peaks are interleaved; medians and minima are printed.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/cpu_topology.h"
#include "base/error.h"
#include "bench/commands.h"
#include "bench/model_bench.h"

namespace verbatim {
namespace {

constexpr double kClipS = 60;                // that the offline real-time factor is of
constexpr std::int64_t kClipContext = 1500;  // more than any step of such a clip looks back on

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// One pass and what its runs took; the floor of a run is from the peaks measured just before it.
struct Measured {
  const ModelPass* pass = nullptr;
  std::vector<double> seconds;
  std::vector<double> floors;
  std::vector<OpTime> times;  // of all runs, with --profile

  double median_s() const { return median(seconds); }
  double min_s() const { return least(seconds); }
  double floor_s() const { return median(floors); }
  double share() const { return floor_s() / median_s(); }
  double best_share() const { return least(floors) / min_s(); }
};

struct Report {
  const ModelBench* bench = nullptr;
  std::vector<Measured> passes;
  std::vector<double> reads;
  std::vector<double> multiply_adds;

  Peaks peaks() const { return {median(reads), median(multiply_adds)}; }
  bool is_read_bound(const ModelPass& pass) const {
    return peaks().read_s(pass.work) >= peaks().arithmetic_s(pass.work);
  }
  const Measured* find(PassKind kind, std::int64_t context) const {
    for (const Measured& each : passes)
      if (each.pass->kind == kind && each.pass->context >= context) return &each;
    return nullptr;
  }
};

std::string pass_name(const ModelPass& pass) {
  if (pass.kind == PassKind::kEncode) return formatted("encoder, %g s a pass", pass.audio_s);
  if (pass.kind == PassKind::kPrompt)
    return formatted("prompt of %lld rows", static_cast<long long>(pass.rows));
  return formatted("decoder step behind %lld", static_cast<long long>(pass.context));
}

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
    report.passes.push_back({&pass, {}, {}, {}});
    bench.run(pass);  // what the first run alone does is not what is asked for
  }
  for (int round = 0; round < rounds; ++round) {
    for (Measured& each : report.passes) {
      const Peaks peaks = bench.peaks();
      report.reads.push_back(peaks.read_bytes_per_s);
      report.multiply_adds.push_back(peaks.multiply_adds_per_s);
      const std::vector<OpTime> before = bench.times();
      each.seconds.push_back(bench.run(*each.pass));
      each.floors.push_back(peaks.floor_s(each.pass->work));
      add_difference(before, bench.times(), each.times);
    }
  }
  return report;
}

struct LiveStep {  // 80 ms of audio, heard and decided
  std::int64_t context = 0;
  double encoder_s = 0;
  double decoder_s = 0;
};

std::vector<LiveStep> live_steps(const Report& report) {
  std::vector<LiveStep> steps;
  if (!report.bench->info().live) return steps;
  const double encoder_s = report.passes.front().median_s();
  for (const Measured& each : report.passes) {
    if (each.pass->kind == PassKind::kStep)
      steps.push_back({each.pass->context, encoder_s, each.median_s()});
  }
  return steps;
}

// Of a minute from a file: its audio encoded in the largest pieces, the prompt, one step for each
// token. 0 where tokens do not go with the audio.
double offline_real_time_factor(const Report& report) {
  const ModelInfo& info = report.bench->info();
  const Measured* largest = nullptr;
  for (const Measured& each : report.passes)
    if (each.pass->kind == PassKind::kEncode) largest = &each;
  const Measured* prompt = report.find(PassKind::kPrompt, 0);
  const Measured* step = report.find(PassKind::kStep, kClipContext);
  if (step == nullptr) step = report.find(PassKind::kStep, 0);
  if (!info.live || largest == nullptr || prompt == nullptr || step == nullptr) return 0;
  const double encoder_s = largest->median_s() * kClipS / largest->pass->audio_s;
  const double steps_s = step->median_s() * kClipS * info.audio_tokens_per_s;
  return (encoder_s + prompt->median_s() + steps_s) / kClipS;
}

void print_profile(const Report& report, const Measured& each) {
  const Peaks peaks = report.peaks();
  std::vector<OpTime> times = each.times;
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  const auto runs = static_cast<double>(each.seconds.size());
  std::printf("\n%s\n%9s %7s %9s %7s  %s\n", pass_name(*each.pass).c_str(), "ms", "calls",
              "floor ms", "share", "op");
  double ops_s = 0;
  for (const OpTime& time : times) {
    ops_s += time.seconds / runs;
    const auto work = each.pass->work_by_op.find({time.op, time.name});
    const double floor_s = work != each.pass->work_by_op.end() ? peaks.floor_s(work->second) : 0;
    std::printf("%9.3f %7.0f %9.3f %7.3f  %s %s\n", time.seconds / runs * 1e3,
                static_cast<double>(time.calls) / runs, floor_s * 1e3,
                floor_s * runs / time.seconds, time.op.c_str(), time.name.c_str());
  }
  std::printf("%9.3f of %.3f ms are ops\n", ops_s * 1e3, each.median_s() * 1e3);
}

void print_text(const Report& report, const ModelBenchOptions& options) {
  const ModelBench& bench = *report.bench;
  const Peaks peaks = report.peaks();
  std::printf("%s: %.0f million parameters in %s, %s, threads %d, caches in %s\n",
              options.shape.c_str(), static_cast<double>(bench.info().parameters) * 1e-6,
              bench.info().formats.front().c_str(), bench.device_name().c_str(), bench.threads(),
              options.kv.c_str());
  std::printf("peaks: %.1f GB/s read, %.1f GFLOP/s of multiply-adds; loaded in %.1f s\n",
              peaks.read_bytes_per_s * 1e-9, 2 * peaks.multiply_adds_per_s * 1e-9, bench.load_s());
  std::printf("%-28s %10s %10s %10s %7s %7s  %s\n", "", "median ms", "min ms", "floor ms", "share",
              "best", "of");
  for (const Measured& each : report.passes) {
    std::printf("%-28s %10.3f %10.3f %10.3f %7.3f %7.3f  %s\n", pass_name(*each.pass).c_str(),
                each.median_s() * 1e3, each.min_s() * 1e3, each.floor_s() * 1e3, each.share(),
                each.best_share(), report.is_read_bound(*each.pass) ? "read" : "fma");
  }
  for (const LiveStep& step : live_steps(report)) {
    std::printf("live behind %lld: encoder %.1f ms + decoder %.1f ms = %.2f of the audio's time\n",
                static_cast<long long>(step.context), step.encoder_s * 1e3, step.decoder_s * 1e3,
                (step.encoder_s + step.decoder_s) * bench.info().audio_tokens_per_s);
  }
  if (const double factor = offline_real_time_factor(report); factor > 0)
    std::printf("offline: real-time factor %.3f over a minute\n", factor);
  std::printf("memory: weights %.0f MiB, peak %.0f MiB\n",
              static_cast<double>(bench.memory().weights) / (1 << 20),
              static_cast<double>(peak_resident_bytes()) / (1 << 20));
  if (!options.profile) return;
  for (const Measured& each : report.passes) print_profile(report, each);
}

void print_json(const Report& report, const ModelBenchOptions& options) {
  const ModelBench& bench = *report.bench;
  const Peaks peaks = report.peaks();
  std::printf(
      "{\"shape\": \"%s\", \"device\": \"%s\", \"threads\": %d, \"kv\": \"%s\", \"rounds\": %d,\n"
      " \"parameters\": %lld, \"load_s\": %.3f, \"weight_bytes\": %zu, \"peak_bytes\": %zu,\n"
      " \"read_bytes_per_s\": %.4g, \"multiply_adds_per_s\": %.4g,\n \"passes\": [",
      options.shape.c_str(), bench.device_name().c_str(), bench.threads(), options.kv.c_str(),
      options.rounds, static_cast<long long>(bench.info().parameters), bench.load_s(),
      bench.memory().weights, peak_resident_bytes(), peaks.read_bytes_per_s,
      peaks.multiply_adds_per_s);
  constexpr const char* kKinds[] = {"encode", "step", "prompt"};
  const char* separator = "\n";
  for (const Measured& each : report.passes) {
    const ModelPass& pass = *each.pass;
    std::printf(
        "%s  {\"kind\": \"%s\", \"audio_s\": %g, \"context\": %lld, \"rows\": %lld, "
        "\"median_s\": %.6f, \"min_s\": %.6f, \"floor_s\": %.6f, \"share\": %.4f, "
        "\"best_share\": %.4f, \"of\": \"%s\", \"bytes\": %.0f, \"multiply_adds\": %.0f}",
        separator, kKinds[static_cast<int>(pass.kind)], pass.audio_s,
        static_cast<long long>(pass.context), static_cast<long long>(pass.rows), each.median_s(),
        each.min_s(), each.floor_s(), each.share(), each.best_share(),
        report.is_read_bound(pass) ? "read" : "fma", pass.work.bytes, pass.work.multiply_adds);
    separator = ",\n";
  }
  std::printf("\n ],\n \"live\": [");
  separator = "\n";
  for (const LiveStep& step : live_steps(report)) {
    std::printf("%s  {\"context\": %lld, \"encoder_s\": %.6f, \"decoder_s\": %.6f}", separator,
                static_cast<long long>(step.context), step.encoder_s, step.decoder_s);
    separator = ",\n";
  }
  std::printf("\n ],\n \"offline_real_time_factor\": %.4f}\n", offline_real_time_factor(report));
}

}  // namespace

int bench_model(const ModelBenchOptions& options) {
  ModelBenchSetup setup;
  setup.isa = options.isa;
  setup.threads = options.threads;
  setup.kv = options.kv;
  setup.profile = options.profile;
  ModelShape shape = model_shape(options.shape);
  if (!options.contexts.empty()) shape.contexts = options.contexts;
  if (!options.encode_s.empty()) shape.encode_s = options.encode_s;
  ModelBench bench(shape, setup);
  const Report report = measure(bench, options.rounds);
  if (options.json) {
    print_json(report, options);
  } else {
    print_text(report, options);
  }
  return 0;
}

}  // namespace verbatim
