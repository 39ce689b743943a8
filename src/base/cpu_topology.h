// What the processor is and which of its cores this process may use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace verbatim {

struct CpuTopology {
  std::string model;          // "AMD EPYC ..." as the kernel names it, "unknown" where it does not
  std::vector<int> cpuset;    // CPUs this process may run on, ascending
  std::vector<int> physical;  // one CPU of the cpuset per physical core
  int default_threads = 1;    // a thread per physical core, fewer where the cgroup grants less time
  std::size_t memory_bytes = 0;     // of the machine, or the cgroup's limit where that is lower
  std::size_t available_bytes = 0;  // of that, free or reclaimable now
};

CpuTopology cpu_topology();

// The same from a copy of /proc and /sys below `root`, for a process that may use `cpuset`.
CpuTopology cpu_topology_below(const std::string& root, std::vector<int> cpuset);

std::size_t peak_resident_bytes();  // of this process so far

}  // namespace verbatim
