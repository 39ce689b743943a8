// What Linux tells of processor and memory under /proc and /sys. A file that is missing (a
// container, a sandbox, an emulator) leaves a default: nothing here throws for it.
#include "base/cpu_topology.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace verbatim {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
constexpr int kMaxCpus = 1 << 16;

// The file's text, empty when there is none.
std::string text_of(const std::string& path) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  for (ssize_t size = ::read(file, part, sizeof part); size > 0;
       size = ::read(file, part, sizeof part)) {
    text.append(part, static_cast<std::size_t>(size));
  }
  ::close(file);
  return text;
}

// What follows `key` and its separators in the line that begins with it.
std::string value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    const std::string_view rest = line.substr(key.size());
    const std::size_t begin = rest.find_first_not_of(" \t:");
    if (begin == 0) continue;  // the key goes on: "cpu" against "cpus"
    return begin == std::string_view::npos ? std::string() : std::string(rest.substr(begin));
  }
  return {};
}

// The number at the start of `text`, `fallback` for "max" and for nothing.
std::size_t number_of(std::string_view text, std::size_t fallback) {
  std::size_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? value : fallback;
}

// "0-3,8" as 0 1 2 3 8.
std::vector<int> cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    const std::size_t end = std::min(text.find_first_of(",\n"), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t dash = part.find('-');
    const auto first = static_cast<int>(number_of(part, 0));
    const auto last = dash == std::string_view::npos
                          ? first
                          : static_cast<int>(number_of(part.substr(dash + 1), 0));
    for (int cpu = first; cpu <= std::min(last, kMaxCpus); ++cpu) cpus.push_back(cpu);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cpus;
}

std::vector<int> cpus_of_this_process() {
  std::vector<int> cpus;
  for (int limit = 1024; limit <= kMaxCpus; limit *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(limit));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(limit));
    check(set != nullptr, "there is memory for a set of CPUs");
    // Too small a set for this kernel is refused: try a larger one.
    const bool known = ::sched_getaffinity(0, size, set) == 0;
    for (int cpu = 0; known && cpu < limit; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::string cpu_folder(const std::string& root, int cpu) {
  return formatted("%s/sys/devices/system/cpu/cpu%d", root.c_str(), cpu);
}

std::vector<int> one_per_core(const std::string& root, const std::vector<int>& cpuset) {
  std::vector<int> physical;
  std::set<int> seen;  // siblings of those that were taken
  for (const int cpu : cpuset) {
    if (seen.contains(cpu)) continue;
    physical.push_back(cpu);
    const std::string path = cpu_folder(root, cpu) + "/topology/thread_siblings_list";
    for (const int sibling : cpu_list(text_of(path))) seen.insert(sibling);
  }
  return physical;
}

// The folders of this process's cgroup and of those around it, innermost first. A container may
// show a path that does not exist inside it: its limits are then at the top.
std::vector<std::string> cgroup_folders(const std::string& root, const char* controller) {
  const std::string groups = text_of(root + "/proc/self/cgroup");
  std::string top = root + "/sys/fs/cgroup";
  std::string path;
  std::string_view rest = groups;
  while (!rest.empty()) {  // "0::/user.slice" in version 2, "5:cpu,cpuacct:/docker/1" in version 1
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string names(line.substr(first + 1, second - first - 1));
    const bool is_ours =
        formatted(",%s,", names.c_str()).find(formatted(",%s,", controller)) != std::string::npos;
    if (!is_ours && (!names.empty() || !path.empty())) continue;
    path = line.substr(second + 1);
    if (is_ours) {
      top += std::string("/") + controller;
      break;
    }
  }
  std::vector<std::string> folders;
  while (path.starts_with('/') && path != "/") {
    folders.push_back(top + path);
    path.resize(path.rfind('/'));
  }
  folders.push_back(top);
  return folders;
}

void measure_memory(const std::string& root, CpuTopology& topology) {
  constexpr std::size_t kKiB = 1024;
  const std::string info = text_of(root + "/proc/meminfo");
  std::size_t total = number_of(value_of(info, "MemTotal"), 0) * kKiB;
  if (total == 0) {
    total = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
            static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
  std::size_t available = number_of(value_of(info, "MemAvailable"), total / kKiB) * kKiB;
  for (const std::string& folder : cgroup_folders(root, "memory")) {
    const std::string second = text_of(folder + "/memory.max");
    const bool is_second = !second.empty();
    const std::size_t limit =
        number_of(is_second ? second : text_of(folder + "/memory.limit_in_bytes"), kUnlimited);
    if (limit >= total) continue;  // "max", none, or version 1's way to say unlimited
    const std::size_t used =
        number_of(text_of(folder + (is_second ? "/memory.current" : "/memory.usage_in_bytes")), 0);
    // Cached file pages count as used and are given up when asked for.
    const std::string stat = text_of(folder + "/memory.stat");
    const std::size_t cached =
        number_of(value_of(stat, is_second ? "inactive_file" : "total_inactive_file"), 0);
    const std::size_t held = used - std::min(used, cached);
    total = limit;
    available = std::min(available, limit - std::min(limit, held));
  }
  topology.memory_bytes = total;
  topology.available_bytes = std::min(available, total);
}

// How many CPUs' worth of time the cgroup grants, rounded up.
std::size_t granted_cpus(const std::string& root) {
  std::size_t granted = kUnlimited;
  for (const std::string& folder : cgroup_folders(root, "cpu")) {
    const std::string second = text_of(folder + "/cpu.max");  // "200000 100000" or "max 100000"
    const std::string quota_text = second.empty() ? text_of(folder + "/cpu.cfs_quota_us") : second;
    const std::string period_text =
        second.empty() ? text_of(folder + "/cpu.cfs_period_us")
                       : second.substr(std::min(second.find(' ') + 1, second.size()));
    const std::size_t quota = number_of(quota_text, 0);
    const std::size_t period = number_of(period_text, 0);
    if (quota > 0 && period > 0) granted = std::min(granted, (quota + period - 1) / period);
  }
  return granted;
}

}  // namespace

CpuTopology cpu_topology_below(const std::string& root, std::vector<int> cpuset) {
  check(!cpuset.empty(), "a process runs on some CPU");
  CpuTopology topology;
  topology.cpuset = std::move(cpuset);
  const std::string info = text_of(root + "/proc/cpuinfo");
  topology.model = value_of(info, "model name");
  if (topology.model.empty()) topology.model = value_of(info, "Model");  // of an ARM board
  if (topology.model.empty()) topology.model = "unknown";
  topology.physical = one_per_core(root, topology.cpuset);
  topology.default_threads =
      static_cast<int>(std::min(topology.physical.size(), granted_cpus(root)));
  measure_memory(root, topology);
  return topology;
}

CpuTopology cpu_topology() {
  return cpu_topology_below("", cpus_of_this_process());
}

std::size_t peak_resident_bytes() {
  // VmHWM before getrusage, which starts from the size of the process that called exec.
  const std::size_t peak = number_of(value_of(text_of("/proc/self/status"), "VmHWM"), 0);
  if (peak > 0) return peak * 1024;
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace verbatim
