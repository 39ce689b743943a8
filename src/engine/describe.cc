// Descriptions come from the dry run that loading begins with.
#include "engine/describe.h"

#include "base/cpu_topology.h"
#include "checkpoint/checkpoint.h"
#include "device/device.h"
#include "engine/auto_quant.h"
#include "engine/placement.h"
#include "text/unicode.h"

namespace verbatim {

ModelDescription describe_model(const EngineOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const Family& family = recognise_family(checkpoint);
  DeviceOptions device_options;
  device_options.threads = options.threads;
  device_options.isa = options.isa;
  device_options.pin_threads = false;
  if (!options.head_filter) device_options.head_filter = HeadFilterUse::kNever;
  const std::unique_ptr<Device> device = open_device(options.device, device_options);
  EngineOptions chosen = options;
  chosen.quant = chosen_quantization(options, checkpoint, family, *device);
  const Placement placement = place(chosen, checkpoint, family, *device);
  ModelDescription made;
  made.family = placement.info.family;
  made.name = placement.info.name;
  made.folder = checkpoint.folder();
  made.layout = placement.info.layout;
  made.sizes = placement.info.sizes;
  made.formats = placement.info.formats;
  made.parameters = placement.info.parameters;
  made.max_context = placement.info.max_context;
  made.audio_tokens_per_s = placement.info.audio_tokens_per_s;
  made.is_live = placement.info.live;
  made.sample_rate_hz = placement.info.sample_rate_hz;
  made.quantization = quantization_text(chosen.quant);
  made.weights_bytes = placement.memory.weights;
  made.kv_bytes_per_minute = placement.kv_bytes_per_minute;
  made.kv_bytes = placement.memory.kv;
  made.arena_bytes = placement.memory.arena;
  made.context = placement.held;
  made.tokenizer = placement.info.tokenizer;
  made.tokenizer_size = placement.info.tokenizer_size;
  made.vocab_size = placement.info.vocab_size;
  made.device = device->info().name;
  return made;
}

std::vector<DeviceDescription> describe_devices() {
  std::vector<DeviceDescription> devices;
  const CpuTopology topology = cpu_topology();
  for (const DeviceFactory* factory : device_factories()) {
    if (factory->count() == 0) continue;
    DeviceDescription made;
    made.name = factory->name;
    made.model = topology.model;
    made.isa_tables = factory->variants();
    if (!made.isa_tables.empty()) made.chosen = made.isa_tables.front();
    made.cpuset = topology.cpuset;
    made.physical_cores = static_cast<int>(topology.physical.size());
    made.memory_bytes = topology.memory_bytes;
    made.available_bytes = topology.available_bytes;
    devices.push_back(made);
  }
  return devices;
}

std::string describe_unicode() {
  return unicode_version();
}

}  // namespace verbatim
