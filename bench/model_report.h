// What was measured of a whole model, and how it is told.
#pragma once

#include <vector>

#include "bench/commands.h"
#include "bench/model_bench.h"

namespace verbatim {

double median(std::vector<double> values);
double least(const std::vector<double>& values);

// One pass and what its runs took; the floor of a run is from the peaks measured just before it,
// its kernels alone were run just behind it.
struct Measured {
  const ModelPass* pass = nullptr;
  std::vector<double> seconds;
  std::vector<double> floors;
  std::vector<double> projections;  // of its kernels alone, convolutions included
  std::vector<double> kernels;      // these and attention
  std::vector<OpTime> times;        // of all runs, with --profile

  double median_s() const { return median(seconds); }
  double min_s() const { return least(seconds); }
  double floor_s() const { return median(floors); }
  double of_floor() const { return floor_s() / median_s(); }
  double best_of_floor() const { return least(floors) / min_s(); }
  double of_kernels() const { return median(kernels) / median_s(); }
  double of_projections() const { return median(projections) / median_s(); }
  double per_second() const;  // tokens, of prompts and steps; else 0
  double real_time_factor() const { return pass->audio_s > 0 ? median_s() / pass->audio_s : 0; }
};

struct Report {
  const ModelBench* bench = nullptr;
  std::vector<Measured> passes;
  std::vector<Peaks> peaks;

  Peaks median_peaks() const;
  const Measured* find(PassKind kind, std::int64_t context, std::int64_t rows) const;
};

void print_text(const Report& report, const ModelBenchOptions& options);
void print_json(const Report& report, const ModelBenchOptions& options);

}  // namespace verbatim
