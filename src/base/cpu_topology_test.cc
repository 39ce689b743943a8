// Machines as folders of small files: cores, memory, and the limits of both cgroup versions.
#include "base/cpu_topology.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/scratch_folder.h"

namespace verbatim {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
using Cpus = std::vector<int>;

class CpuTopologyTest : public testing::Test {
 protected:
  CpuTopologyTest() {
    put("proc/meminfo",
        "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");
  }
  void put(const std::string& path, const std::string& text) const { folder_.write(path, text); }
  void put_core(int cpu, const std::string& siblings) const {
    put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        siblings + "\n");
  }

  const ScratchFolder folder_;
  const std::string& root_ = folder_.path();
};

TEST_F(CpuTopologyTest, OneCpuPerCoreOfTheSetWhicheverSiblingIsInIt) {
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string both = std::to_string(cpu) + "," + std::to_string(cpu + 4);
    put_core(cpu, both);
    put_core(cpu + 4, both);
  }
  EXPECT_EQ(cpu_topology_below(root_, {0, 1, 2, 3, 4, 5, 6, 7}).physical, (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(cpu_topology_below(root_, {1, 4, 5, 6}).physical, (Cpus{1, 4, 6}));
  EXPECT_EQ(cpu_topology_below(root_, {0, 1, 4, 5}).default_threads, 2);
}

TEST_F(CpuTopologyTest, SiblingsMayBeARange) {
  for (int cpu = 0; cpu < 8; ++cpu) put_core(cpu, cpu < 4 ? "0-3" : "4-7");
  EXPECT_EQ(cpu_topology_below(root_, {0, 1, 2, 3, 4, 5, 6, 7}).physical, (Cpus{0, 4}));
}

TEST_F(CpuTopologyTest, AMachineThatTellsNothingHasDefaults) {
  const CpuTopology topology = cpu_topology_below(root_ + "/none", {2, 3});
  EXPECT_EQ(topology.model, "unknown");
  EXPECT_EQ(topology.physical, (Cpus{2, 3}));
  EXPECT_EQ(topology.default_threads, 2);
  EXPECT_GT(topology.memory_bytes, 16 * kMiB);
  EXPECT_GT(topology.available_bytes, 0u);
}

TEST_F(CpuTopologyTest, TheModelIsNamedAsTheKernelNamesIt) {
  put("proc/cpuinfo",
      "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654 96-Core\nflags : x\n");
  EXPECT_EQ(cpu_topology_below(root_, {0}).model, "AMD EPYC 9654 96-Core");
}

TEST_F(CpuTopologyTest, WithoutLimitsTheMemoryIsTheMachines) {
  const CpuTopology topology = cpu_topology_below(root_, {0});
  EXPECT_EQ(topology.memory_bytes, 16384 * kMiB);
  EXPECT_EQ(topology.available_bytes, 8192 * kMiB);
}

TEST_F(CpuTopologyTest, TheTightestCgroupOnTheWayUpCounts) {
  put("proc/self/cgroup", "0::/outer/inner\n");
  put("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  put("sys/fs/cgroup/outer/memory.max", "1073741824\n");
  put("sys/fs/cgroup/outer/memory.current", "805306368\n");
  put("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 268435456\n");
  put("sys/fs/cgroup/memory.max", "4294967296\n");
  const CpuTopology topology = cpu_topology_below(root_, {0});
  EXPECT_EQ(topology.memory_bytes, 1024 * kMiB);
  EXPECT_EQ(topology.available_bytes, 512 * kMiB);
}

TEST_F(CpuTopologyTest, AContainerSeesItsLimitAtTheTop) {
  put("proc/self/cgroup", "0::/docker/0123\n");
  put("sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(cpu_topology_below(root_, {0}).memory_bytes, 2048 * kMiB);
}

TEST_F(CpuTopologyTest, TheFirstVersionOfCgroupsLimitsToo) {
  put("proc/self/cgroup", "12:cpu,cpuacct:/job\n9:memory:/job\n0::/\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "536870912\n");
  put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "134217728\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  put("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const CpuTopology topology = cpu_topology_below(root_, {0, 1, 2, 3});
  EXPECT_EQ(topology.memory_bytes, 512 * kMiB);
  EXPECT_EQ(topology.available_bytes, 384 * kMiB);
  EXPECT_EQ(topology.default_threads, 2);
}

TEST_F(CpuTopologyTest, AShareOfTimeLimitsTheThreads) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cpu_topology_below(root_, {0, 1, 2, 3, 4}).default_threads, 3);
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_topology_below(root_, {0, 1, 2, 3, 4}).default_threads, 5);
}

TEST(CpuTopology, OfThisMachineIsPlausible) {
  const CpuTopology topology = cpu_topology();
  EXPECT_FALSE(topology.model.empty());
  EXPECT_FALSE(topology.cpuset.empty());
  EXPECT_GE(topology.physical.size(), 1u);
  EXPECT_LE(topology.physical.size(), topology.cpuset.size());
  EXPECT_GE(topology.default_threads, 1);
  EXPECT_GT(topology.memory_bytes, 64 * kMiB);
  EXPECT_LE(topology.available_bytes, topology.memory_bytes);
}

TEST(PeakResidentBytes, CountTheMemoryThatIsTouched) {
  const std::size_t before = peak_resident_bytes();
  std::vector<char> block(before + 32 * kMiB, 1);
  EXPECT_GE(peak_resident_bytes(), before + 32 * kMiB);
  EXPECT_EQ(block.back(), 1);
}

TEST_F(CpuTopologyTest, ACgroupWithoutAPathIsTheTop) {
  put("proc/self/cgroup", "0::strange\n");
  put("sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(cpu_topology_below(root_, {0}).memory_bytes, 2048 * kMiB);
}

}  // namespace
}  // namespace verbatim
