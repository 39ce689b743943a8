// The subcommands of verbatim-bench.
#pragma once

#include <string>
#include <vector>

namespace verbatim {

struct KernelBenchOptions {
  std::string isa;                   // empty: the best that runs here
  std::vector<std::string> formats;  // empty: all
  std::vector<int> threads{1, 2};
  std::vector<int> rows;  // of 512, 29 and 1; empty: these and the encoders'
  double seconds = 1.0;   // spent on each case
  bool json = false;
};

// Prints each projection's share of its ceiling and the means; returns the exit code.
int bench_kernels(const KernelBenchOptions& options);

}  // namespace verbatim
