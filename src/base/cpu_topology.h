// What the processor is and which of its cores this process may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace verbatim {

struct CpuTopology {
  std::string model;              // "AMD EPYC ..." as the kernel names it
  std::vector<int> cpuset;        // CPUs this process may run on
  std::vector<int> physical;      // one CPU of the cpuset per physical core
  std::size_t memory_bytes = 0;   // of the machine, or the cgroup's limit where that is lower
  std::size_t available_bytes = 0;
  std::size_t l2_bytes = 0;       // per core; 1 MiB where unknown
};

CpuTopology cpu_topology();
std::size_t peak_resident_bytes();     // of this process so far
std::size_t current_resident_bytes();

}  // namespace verbatim
