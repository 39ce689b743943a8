// A whole model of some shape on the CPU: its own encode and decode, over caches that are full.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/kernel_replay.h"
#include "bench/model_shapes.h"
#include "bench/peaks.h"
#include "bench/work_device.h"
#include "device/timed_device.h"
#include "engine/placement.h"
#include "kv/pool.h"
#include "models/model.h"

namespace verbatim {

struct Peaks {
  double read_bytes_per_s = 0;
  double multiply_adds_per_s = 0;
  double byte_products_per_s = 0;

  double read_s(const Work& work) const { return work.bytes / read_bytes_per_s; }
  double arithmetic_s(const Work& work) const {
    return work.multiply_adds / multiply_adds_per_s + work.byte_products / byte_products_per_s;
  }
  double floor_s(const Work& work) const { return std::max(read_s(work), arithmetic_s(work)); }
  // "read", "fma" or "dot": what most of the floor is.
  const char* bound(const Work& work) const;
};

// A turn is an encoder pass, a prompt and steps behind each other.
enum class PassKind : std::uint8_t { kEncode, kPrompt, kStep, kTurn };

struct ModelPass {
  PassKind kind = PassKind::kEncode;
  std::string name = {};
  double audio_s = 0;        // that it stands for
  double encode_s = 0;       // that an encoder pass takes; 0: none
  std::int64_t context = 0;  // positions in the decoder's cache before it
  std::int64_t rows = 0;     // of prompt
  std::int64_t steps = 0;
  std::vector<Work> parts = {};  // what the encoder, the prompt and the steps cannot do without
  WorkDevice::Table work_by_op = {};
  std::vector<KernelCall> calls = {};

  double floor_s(const Peaks& peaks) const;
  Work work() const;
};

struct ModelBenchSetup {
  std::string isa;  // empty: the best that runs here
  int threads = 0;  // 0: one per physical core
  std::string kv = "f16";
  Quantization quant;
  bool head_filter = true;
  bool profile = false;  // a stopwatch around every op
};

struct LoadFigures {
  double seconds = 0;
  double stored_bytes = 0;     // of the checkpoint
  std::size_t peak_bytes = 0;  // resident, once it was loaded
};

class ModelBench {
 public:
  ModelBench(const ModelShape& shape, const ModelBenchSetup& setup);

  const ModelInfo& info() const { return model_->info(); }
  const std::string& device_name() const { return device_->info().name; }
  int threads() const { return threads_; }
  const LoadFigures& loaded() const { return loaded_; }
  const MemoryUse& memory() const { return placement_.memory; }
  // The encoder's, the prompts, a step behind each context, the turns.
  const std::vector<ModelPass>& passes() const { return passes_; }

  Peaks peaks();                      // now
  double run(const ModelPass& pass);  // seconds
  ReplayTimes run_kernels(const ModelPass& pass);
  std::vector<OpTime> times() const;  // of everything since the start; with setup.profile

 private:
  void load(const ModelShape& shape, const ModelBenchSetup& setup);
  void make_caches(const ModelShape& shape);
  std::unique_ptr<KvPool> make_pool(const KvLayout& layout, std::int64_t positions);
  void add_passes(const ModelShape& shape);
  void add_pass(ModelPass pass);
  void run(const ModelPass& pass, Device& device);
  void encode(double audio_s, Device& device);
  void decode(std::int64_t rows, Want want, Device& device);

  std::int32_t condition_ = 0;
  int threads_ = 1;
  LoadFigures loaded_;
  std::unique_ptr<Device> device_;
  TimedDevice* timed_ = nullptr;      // device_, when it is one
  std::unique_ptr<ThreadPool> pool_;  // of the ceilings, and of loading
  const Roofline* roofline_ = nullptr;
  Buffer read_;
  Placement placement_;
  std::int32_t most_rows_ = 0;  // of a decoder pass
  std::unique_ptr<Model> model_;
  std::unique_ptr<WorkDevice> counting_;
  std::unique_ptr<KernelReplay> replay_;
  std::unique_ptr<KvPool> kv_pool_, encoder_pool_;
  std::vector<std::unique_ptr<ConvState>> conv_;
  std::unique_ptr<KvSequence> kv_, encoder_kv_;
  std::int64_t encoder_held_ = 0;  // positions in encoder_kv_ before a pass
  std::vector<float> audio_;       // rows that an encoder pass takes
  std::vector<float> speech_;      // one row of what it makes
  std::vector<RowInput> inputs_;
  std::vector<ModelPass> passes_;
};

}  // namespace verbatim
