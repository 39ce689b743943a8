// verbatim-bench kernels: every projection's share of its ceiling. Google Benchmark runs the cases;
// the best times are kept, and shares, means and worst cases printed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/commands.h"
#include "bench/kernel_case.h"
#include "bench/quiet.h"

namespace verbatim {
namespace {

struct Result {
  KernelCase what;
  KernelTimes best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max(),
                   std::numeric_limits<double>::max()};
  double share() const { return best.ceiling_s / best.kernel_s; }
  // The share if its weights were in L2, which counts where a core reads memory faster than it can
  // do what a format asks of it; 0 where arithmetic is the ceiling.
  double near_share() const { return best.near_s > 0 ? best.ceiling_s / best.near_s : 0; }
};

const char* ceiling_name(const KernelCase& one) {
  if (is_read_bound(one.shape)) return "read";
  return multiplies_bytes(one) ? "dot" : "fma";
}

struct Mean {
  double log_sum = 0;
  int count = 0;
  double worst = std::numeric_limits<double>::max();
  std::string worst_case;

  void add(double share, const std::string& name) {
    log_sum += std::log(share);
    ++count;
    if (share < worst) {
      worst = share;
      worst_case = name;
    }
  }
  double value() const { return std::exp(log_sum / count); }
};

std::string shape_name(const LinearShape& shape) {
  return formatted("%lld x %d -> %d", static_cast<long long>(shape.rows), shape.in, shape.out);
}

std::string mean_name(const Result& result) {
  return formatted("%-7s %d thread%s %s", result.what.format().c_str(), result.what.threads,
                   result.what.threads == 1 ? " " : "s", result.what.group.c_str());
}

double gigabytes_per_s(const Result& result) {
  return static_cast<double>(result.what.packed_bytes()) / result.best.kernel_s / 1e9;
}

double gigaflops(const Result& result) {
  const LinearShape& shape = result.what.shape;
  return 2.0 * static_cast<double>(shape.rows) * shape.in * shape.out / result.best.kernel_s / 1e9;
}

void print_table(const char* isa, const std::vector<Result>& results) {
  std::printf("isa %s\n%-7s %7s  %-22s %9s %9s %7s  %-4s %7s\n", isa, "", "threads",
              "rows x in -> out", "GFLOP/s", "GB/s", "share", "of", "in L2");
  std::map<std::string, Mean> means;
  std::map<std::string, Mean> near_means;
  std::vector<std::string> order;
  for (const Result& result : results) {
    const KernelCase& what = result.what;
    std::printf("%-7s %7d  %-22s %9.1f %9.1f %7.3f  %-4s", what.format().c_str(), what.threads,
                shape_name(what.shape).c_str(), gigaflops(result), gigabytes_per_s(result),
                result.share(), ceiling_name(what));
    if (result.near_share() > 0) std::printf(" %7.3f", result.near_share());
    std::printf("\n");
    if (means.find(mean_name(result)) == means.end()) order.push_back(mean_name(result));
    means[mean_name(result)].add(result.share(), shape_name(what.shape));
    if (result.near_share() > 0) {
      near_means[mean_name(result)].add(result.near_share(), shape_name(what.shape));
    }
  }
  std::printf("\n%-31s %7s %7s  %-22s %7s %7s\n", "geometric means", "share", "worst", "at",
              "in L2", "worst");
  for (const std::string& name : order) {
    const Mean& mean = means[name];
    std::printf("%-31s %7.3f %7.3f  %-22s", name.c_str(), mean.value(), mean.worst,
                mean.worst_case.c_str());
    const auto near = near_means.find(name);
    if (near != near_means.end()) {
      std::printf(" %7.3f %7.3f", near->second.value(), near->second.worst);
    }
    std::printf("\n");
  }
}

void print_json(const char* isa, const std::vector<Result>& results) {
  std::printf("{\"isa\": \"%s\", \"cases\": [", isa);
  const char* separator = "\n";
  for (const Result& result : results) {
    const KernelCase& what = result.what;
    std::printf(
        "%s  {\"format\": \"%s\", \"threads\": %d, \"group\": \"%s\", \"rows\": %lld, "
        "\"in\": %d, \"out\": %d, \"bytes\": %zu, \"seconds\": %.9f, \"ceiling_seconds\": %.9f, "
        "\"ceiling\": \"%s\", \"share\": %.4f, \"share_in_l2\": %.4f}",
        separator, what.format().c_str(), what.threads, what.group.c_str(),
        static_cast<long long>(what.shape.rows), what.shape.in, what.shape.out, what.packed_bytes(),
        result.best.kernel_s, result.best.ceiling_s, ceiling_name(what), result.share(),
        result.near_share());
    separator = ",\n";
  }
  std::printf("\n]}\n");
}

// The table's kernels for the named formats, or all.
std::vector<const LinearKernel*> kernels_for(const KernelTable& table,
                                             const std::vector<std::string>& formats) {
  std::vector<const LinearKernel*> kernels;
  std::string known;
  for (const LinearKernel& kernel : table.linear) {
    const bool named =
        std::find(formats.begin(), formats.end(), kernel.format->name) != formats.end();
    if (named || formats.empty()) kernels.push_back(&kernel);
    append_listed(known, kernel.format->name);
  }
  if (kernels.size() < formats.size()) {
    fail(Code::kInvalidArgument, "--format: expected different ones of %s", known.c_str());
  }
  return kernels;
}

// Input features under one scale as quantising at load makes them; codes of eight bits have
// one scale a row.
std::vector<std::int32_t> scale_groups(const WeightFormat& format) {
  if (&format == &kFormatNf4) return {64};
  if (&format == &kFormatInt4) return {128, 32};
  if (&format == &kFormatW4A8) return {128};
  if (&format == &kFormat8da4w) return {32};
  return {0};
}

// Those of the decoder, or the named ones of all that are measured.
std::vector<LinearShape> shapes_for(const std::vector<std::string>& names) {
  std::vector<LinearShape> all(std::begin(kDecoderShapes), std::end(kDecoderShapes));
  if (names.empty()) return all;
  all.insert(all.end(), std::begin(kEncoderShapes), std::end(kEncoderShapes));
  std::vector<LinearShape> shapes;
  for (const std::string& name : names) {
    std::string known;
    const auto is_named = [&](const LinearShape& shape) {
      append_listed(known, formatted("%dx%d", shape.in, shape.out).c_str());
      return name == formatted("%dx%d", shape.in, shape.out);
    };
    const auto found = std::find_if(all.begin(), all.end(), is_named);
    if (found == all.end()) {
      fail(Code::kInvalidArgument, "--shape: expected one of %s, found %s", known.c_str(),
           name.c_str());
    }
    shapes.push_back(*found);
  }
  return shapes;
}

std::vector<KernelCase> cases_of(const LinearKernel& kernel, int threads,
                                 const KernelBenchOptions& options) {
  const std::vector<int>& rows = options.rows;
  std::vector<KernelCase> cases;
  for (const int count : rows.empty() ? std::vector<int>{512, 29, 1} : rows) {
    for (LinearShape shape : shapes_for(options.shapes)) {
      shape.rows = count;
      cases.push_back(
          {&kernel, shape, threads, formatted("%d row%s", count, count == 1 ? "" : "s")});
    }
  }
  if (!rows.empty() || !options.shapes.empty()) return cases;
  for (const LinearShape& shape : kEncoderShapes)
    cases.push_back({&kernel, shape, threads, "encoder"});
  return cases;
}

}  // namespace

const KernelTable& table_for(const std::string& isa) {
  std::string known;
  for (const KernelTable* table : kernel_tables()) {
    if (!table->runs_here()) continue;
    if (isa.empty() || isa == table->isa) return *table;
    append_listed(known, table->isa);
  }
  fail(Code::kInvalidArgument, "--isa: expected one of %s, found %s", known.c_str(), isa.c_str());
}

int bench_kernels(const KernelBenchOptions& options) {
  const KernelTable& table = table_for(options.isa);
  const std::vector<const LinearKernel*> kernels = kernels_for(table, options.formats);
  KernelBench bench(table, options.threads);
  std::vector<Result> results;
  for (const LinearKernel* kernel : kernels) {
    for (const int threads : options.threads) {
      for (const std::int32_t group : scale_groups(*kernel->format)) {
        for (KernelCase& one : cases_of(*kernel, threads, options)) {
          const bool is_whole_row = kernel->format == &kFormatInt8 ||
                                    kernel->format == &kFormatW8A8 ||
                                    kernel->format == &kFormat8da8w;
          one.scaled = is_whole_row ? one.shape.in : group;
          results.emplace_back().what = std::move(one);
        }
      }
    }
  }
  const WeightFormat* filled = nullptr;
  for (Result& result : results) {
    benchmark::RegisterBenchmark(
        mean_name(result).c_str(),
        [&](benchmark::State& state) {
          if (filled != result.what.kernel->format) bench.fill(*result.what.kernel->format);
          filled = result.what.kernel->format;
          for ([[maybe_unused]] auto iteration : state) {
            const KernelTimes times = bench.measure(result.what);
            result.best.kernel_s = std::min(result.best.kernel_s, times.kernel_s);
            result.best.ceiling_s = std::min(result.best.ceiling_s, times.ceiling_s);
            result.best.near_s = std::min(result.best.near_s, times.near_s);
            state.SetIterationTime(times.kernel_s);
          }
        })
        ->UseRealTime()
        ->MinTime(options.seconds);
  }
  Quiet quiet;
  benchmark::RunSpecifiedBenchmarks(&quiet);
  if (options.json) {
    print_json(table.isa, results);
  } else {
    print_table(table.isa, results);
  }
  return 0;
}

}  // namespace verbatim
