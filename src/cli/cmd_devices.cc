// verbatim devices: the machine as the program sees it.
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/flags.h"
#include "cli/results.h"
#include "cli/stats.h"
#include "engine/describe.h"

namespace verbatim {
namespace {

// "0-3,8" of ascending numbers.
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text.push_back(',');
    text += std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string tables_json(const DeviceDescription& device) {
  std::string tables;
  for (const std::string& table : device.isa_tables)
    tables += (tables.empty() ? "" : ",") + json_string(table);
  return "[" + tables + "]";
}

std::string device_json(const DeviceDescription& device) {
  std::string cpus;
  for (const int cpu : device.cpuset) cpus += (cpus.empty() ? "" : ",") + std::to_string(cpu);
  return "{\"name\":" + json_string(device.name) + ",\"model\":" + json_string(device.model) +
         ",\"isa_tables\":" + tables_json(device) + ",\"chosen\":" + json_string(device.chosen) +
         ",\"cpuset\":[" + cpus + "],\"physical_cores\":" + std::to_string(device.physical_cores) +
         ",\"memory_bytes\":" + std::to_string(device.memory_bytes) +
         ",\"available_bytes\":" + std::to_string(device.available_bytes) + "}";
}

std::string device_text(const DeviceDescription& device) {
  std::string tables;
  for (const std::string& table : device.isa_tables)
    append_listed(tables, table + (table == device.chosen ? " (chosen)" : ""));
  std::string text = device.name + "\n";
  text += formatted("  %-10s %s\n", "model", device.model.c_str());
  text += formatted("  %-10s %d physical, CPUs %s\n", "cores", device.physical_cores,
                    ranges(device.cpuset).c_str());
  text += formatted("  %-10s %s\n", "kernels", tables.c_str());
  text += formatted("  %-10s %s, %s available\n", "memory",
                    size_text(static_cast<double>(device.memory_bytes)).c_str(),
                    size_text(static_cast<double>(device.available_bytes)).c_str());
  return text;
}

// The tables stand at the top too: they are what scripts ask for.
std::string devices_json(const std::vector<DeviceDescription>& devices) {
  std::string all;
  for (const DeviceDescription& device : devices)
    all += (all.empty() ? "" : ",") + device_json(device);
  return "{\"isa_tables\":" + tables_json(devices.front()) +
         ",\"chosen\":" + json_string(devices.front().chosen) + ",\"devices\":[" + all + "]}\n";
}

std::string devices_text(const std::vector<DeviceDescription>& devices) {
  std::string all;
  for (const DeviceDescription& device : devices) all += device_text(device);
  return all;
}

int run(std::span<const char* const> arguments) {
  bool json = false;
  Flags flags("verbatim devices [FLAGS]",
              "Tells what this machine offers: processor, cores and cpuset, the kernel tables that "
              "run here and the one that is chosen, memory.");
  flags.section("Output");
  flags.toggle(json, "--json", "Prints one JSON object; its devices carry isa_tables, best first.");
  flags.footer(
      "Exit codes: 0, 2 the command line is wrong.\n\nExample:\n  verbatim devices --json\n");
  if (!flags.read(arguments)) {
    write_stdout(flags.help());
    return kExitWhole;
  }
  write_stdout(json ? devices_json(describe_devices()) : devices_text(describe_devices()));
  return kExitWhole;
}

}  // namespace

const Command kDevicesCommand{"devices", "what this machine offers", run};

}  // namespace verbatim
