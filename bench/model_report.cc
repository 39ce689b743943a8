// A table for people, or JSON.
#include "bench/model_report.h"

#include <algorithm>
#include <cstdio>

#include "base/cpu_topology.h"
#include "base/error.h"
#include "base/json.h"

namespace verbatim {
namespace {

constexpr double kClipS = 60;                // that the offline real-time factor is of
constexpr std::int64_t kClipContext = 1500;  // more than any step of such a clip looks back on
constexpr std::int64_t kClipPrompt = 39;

// Of a minute from a file: its audio encoded in the largest pieces, the prompt, one step for each
// token. 0 where tokens do not go with the audio.
double offline_real_time_factor(const Report& report) {
  const ModelInfo& info = report.bench->info();
  const Measured* largest = nullptr;
  for (const Measured& each : report.passes)
    if (each.pass->kind == PassKind::kEncode) largest = &each;
  const Measured* prompt = report.find(PassKind::kPrompt, 0, kClipPrompt);
  const Measured* step = report.find(PassKind::kStep, kClipContext, 0);
  if (step == nullptr) step = report.find(PassKind::kStep, 0, 0);
  if (!info.live || largest == nullptr || prompt == nullptr || step == nullptr) return 0;
  const double encoder_s = largest->median_s() * kClipS / largest->pass->audio_s;
  const double steps_s = step->median_s() * kClipS * info.audio_tokens_per_s;
  return (encoder_s + prompt->median_s() + steps_s) / kClipS;
}

std::string rate_text(const Measured& each) {
  if (each.real_time_factor() > 0) return formatted("%.3f x", each.real_time_factor());
  return formatted("%.1f/s", each.per_second());
}

std::string formats_text(const ModelInfo& info) {
  std::string text;
  for (const std::string& format : info.formats) append_listed(text, format);
  return text;
}

double mib(double bytes) {
  return bytes / (1 << 20);
}

void print_profile(const Report& report, const Measured& each) {
  const Peaks peaks = report.median_peaks();
  std::vector<OpTime> times = each.times;
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  const auto runs = static_cast<double>(each.seconds.size());
  std::printf("\n%s\n%9s %7s %9s %7s  %s\n", each.pass->name.c_str(), "ms", "calls", "floor ms",
              "share", "op");
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

void print_memory(const ModelBench& bench) {
  const auto weights = static_cast<double>(bench.memory().weights);
  const auto at_load = static_cast<double>(bench.loaded().peak_bytes);
  std::printf(
      "memory: weights %.0f MiB of %.0f MiB as stored, peak while they were made %.0f MiB "
      "(%+.0f), peak of all %.0f MiB\n",
      mib(weights), mib(bench.loaded().stored_bytes), mib(at_load), mib(at_load - weights),
      mib(static_cast<double>(peak_resident_bytes())));
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

double Measured::per_second() const {
  if (pass->kind == PassKind::kPrompt) return static_cast<double>(pass->rows) / median_s();
  return pass->kind == PassKind::kStep ? static_cast<double>(pass->steps) / median_s() : 0;
}

Peaks Report::median_peaks() const {
  std::vector<double> reads, multiply_adds, byte_products;
  for (const Peaks& each : peaks) {
    reads.push_back(each.read_bytes_per_s);
    multiply_adds.push_back(each.multiply_adds_per_s);
    byte_products.push_back(each.byte_products_per_s);
  }
  return {median(reads), median(multiply_adds), median(byte_products)};
}

const Measured* Report::find(PassKind kind, std::int64_t context, std::int64_t rows) const {
  for (const Measured& each : passes) {
    if (each.pass->kind == kind && each.pass->context >= context && each.pass->rows >= rows)
      return &each;
  }
  return nullptr;
}

void print_text(const Report& report, const ModelBenchOptions& options) {
  const ModelBench& bench = *report.bench;
  const Peaks peaks = report.median_peaks();
  std::printf("%s: %.0f million parameters in %s, %s, threads %d, caches in %s\n",
              options.shape.c_str(), static_cast<double>(bench.info().parameters) * 1e-6,
              formats_text(bench.info()).c_str(), bench.device_name().c_str(), bench.threads(),
              options.kv.c_str());
  std::printf(
      "peaks: %.1f GB/s read, %.1f GFLOP/s of multiply-adds, %.1f GOP/s of byte products; "
      "loaded in %.1f s\n",
      peaks.read_bytes_per_s * 1e-9, 2 * peaks.multiply_adds_per_s * 1e-9,
      2 * peaks.byte_products_per_s * 1e-9, bench.loaded().seconds);
  std::printf("%-24s %9s %9s %9s | %9s %5s %5s %-4s | %9s %5s | %9s %5s\n", "", "median ms",
              "min ms", "", "floor ms", "share", "best", "of", "kernels", "share", "proj.",
              "share");
  for (const Measured& each : report.passes) {
    std::printf("%-24s %9.3f %9.3f %9s | %9.3f %5.2f %5.2f %-4s | %9.3f %5.2f | %9.3f %5.2f\n",
                each.pass->name.c_str(), each.median_s() * 1e3, each.min_s() * 1e3,
                rate_text(each).c_str(), each.floor_s() * 1e3, each.of_floor(),
                each.best_of_floor(), peaks.bound(each.pass->work()), median(each.kernels) * 1e3,
                each.of_kernels(), median(each.projections) * 1e3, each.of_projections());
  }
  if (const double factor = offline_real_time_factor(report); factor > 0)
    std::printf("offline: real-time factor %.3f over a minute\n", factor);
  print_memory(bench);
  if (!options.profile) return;
  for (const Measured& each : report.passes) print_profile(report, each);
}

void print_json(const Report& report, const ModelBenchOptions& options) {
  const ModelBench& bench = *report.bench;
  const Peaks peaks = report.median_peaks();
  std::printf(
      "{\"shape\": %s, \"device\": %s, \"threads\": %d, \"kv\": %s, \"rounds\": %d,\n"
      " \"quant\": %s, \"encoder_quant\": %s, \"head_quant\": %s, \"head_filter\": %s, "
      "\"formats\": %s,\n",
      json_string(options.shape).c_str(), json_string(bench.device_name()).c_str(), bench.threads(),
      json_string(options.kv).c_str(), options.rounds, json_string(options.quant).c_str(),
      json_string(options.encoder_quant).c_str(), json_string(options.head_quant).c_str(),
      json_string(options.head_filter).c_str(), json_string(formats_text(bench.info())).c_str());
  std::printf(
      " \"parameters\": %lld, \"load_s\": %.3f, \"stored_bytes\": %.0f, \"weight_bytes\": %zu,\n"
      " \"load_peak_bytes\": %zu, \"peak_bytes\": %zu,\n"
      " \"read_bytes_per_s\": %.4g, \"multiply_adds_per_s\": %.4g, \"byte_products_per_s\": %.4g,\n"
      " \"passes\": [",
      static_cast<long long>(bench.info().parameters), bench.loaded().seconds,
      bench.loaded().stored_bytes, bench.memory().weights, bench.loaded().peak_bytes,
      peak_resident_bytes(), peaks.read_bytes_per_s, peaks.multiply_adds_per_s,
      peaks.byte_products_per_s);
  constexpr const char* kKinds[] = {"encode", "prompt", "step", "turn"};
  const char* separator = "\n";
  for (const Measured& each : report.passes) {
    const ModelPass& pass = *each.pass;
    const Work work = pass.work();
    std::printf(
        "%s  {\"name\": %s, \"kind\": \"%s\", \"audio_s\": %g, \"context\": %lld, \"rows\": %lld, "
        "\"steps\": %lld, \"median_s\": %.6f, \"min_s\": %.6f, \"real_time_factor\": %.4f, "
        "\"tokens_per_s\": %.3f, \"floor_s\": %.6f, \"of_floor\": %.4f, \"best_of_floor\": %.4f, "
        "\"bound\": \"%s\", \"kernels_s\": %.6f, \"of_kernels\": %.4f, \"projections_s\": %.6f, "
        "\"of_projections\": %.4f, \"bytes\": %.0f, \"multiply_adds\": %.0f, "
        "\"byte_products\": %.0f}",
        separator, json_string(pass.name).c_str(), kKinds[static_cast<int>(pass.kind)],
        pass.audio_s, static_cast<long long>(pass.context), static_cast<long long>(pass.rows),
        static_cast<long long>(pass.steps), each.median_s(), each.min_s(), each.real_time_factor(),
        each.per_second(), each.floor_s(), each.of_floor(), each.best_of_floor(), peaks.bound(work),
        median(each.kernels), each.of_kernels(), median(each.projections), each.of_projections(),
        work.bytes, work.multiply_adds, work.byte_products);
    separator = ",\n";
  }
  std::printf("\n ],\n \"offline_real_time_factor\": %.4f}\n", offline_real_time_factor(report));
}

}  // namespace verbatim
