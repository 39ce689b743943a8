// A whole model of some shape on the CPU: its own encode and decode, over caches that are full.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/model_shapes.h"
#include "bench/peaks.h"
#include "bench/work_device.h"
#include "device/timed_device.h"
#include "engine/placement.h"
#include "kv/pool.h"
#include "models/model.h"

namespace verbatim {

enum class PassKind : std::uint8_t { kEncode, kStep, kPrompt };

struct ModelPass {
  PassKind kind = PassKind::kEncode;
  double audio_s = 0;        // that an encoder pass takes
  std::int64_t context = 0;  // positions in the cache before it
  std::int64_t rows = 0;     // that go in
  Work work;                 // what it cannot do without
  WorkDevice::Table work_by_op;
};

struct Peaks {
  double read_bytes_per_s = 0;
  double multiply_adds_per_s = 0;

  double read_s(const Work& work) const { return work.bytes / read_bytes_per_s; }
  double arithmetic_s(const Work& work) const { return work.multiply_adds / multiply_adds_per_s; }
  double floor_s(const Work& work) const { return std::max(read_s(work), arithmetic_s(work)); }
};

struct ModelBenchSetup {
  std::string isa;  // empty: the best that runs here
  int threads = 0;  // 0: one per physical core
  std::string kv = "f16";
  bool profile = false;  // a stopwatch around every op
};

class ModelBench {
 public:
  ModelBench(const ModelShape& shape, const ModelBenchSetup& setup);

  const ModelInfo& info() const { return model_->info(); }
  const std::string& device_name() const { return device_->info().name; }
  int threads() const { return threads_; }
  double load_s() const { return load_s_; }
  const MemoryUse& memory() const { return placement_.memory; }
  // The encoder's, then a step behind each context, then the prompt.
  const std::vector<ModelPass>& passes() const { return passes_; }

  Peaks peaks();                      // now
  double run(const ModelPass& pass);  // seconds
  std::vector<OpTime> times() const;  // of everything since the start; with setup.profile

 private:
  void load(const ModelShape& shape, const ModelBenchSetup& setup);
  void make_caches(const ModelShape& shape);
  std::unique_ptr<KvPool> make_pool(const KvLayout& layout, std::int64_t positions);
  void add_passes(const ModelShape& shape);
  void add_pass(PassKind kind, double audio_s, std::int64_t context, std::int64_t rows);
  void encode(const ModelPass& pass, Device& device);
  void decode(const ModelPass& pass, Device& device);
  KvSequence& cache_of(const ModelPass& pass);

  std::int32_t condition_ = 0;
  int threads_ = 1;
  double load_s_ = 0;
  std::unique_ptr<Device> device_;
  TimedDevice* timed_ = nullptr;      // device_, when it is one
  std::unique_ptr<ThreadPool> pool_;  // of the ceilings
  const Roofline* roofline_ = nullptr;
  Buffer read_;
  Placement placement_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<WorkDevice> counting_;
  std::unique_ptr<KvPool> kv_pool_, encoder_pool_;
  std::vector<std::unique_ptr<ConvState>> conv_;
  std::unique_ptr<KvSequence> encoder_kv_;
  std::vector<std::unique_ptr<KvSequence>> kv_;  // by context
  std::vector<float> audio_;                     // rows that an encoder pass takes
  std::vector<float> speech_;                    // one row of what it makes
  std::vector<RowInput> rows_;
  std::vector<ModelPass> passes_;
};

}  // namespace verbatim
