// One model on its devices and the loop that runs its slots. tick() delivers audio, lets every
// session plan an encode batch, runs it, lets every session take; the same for decode; posts
// events, releases finished slots and admits waiting ones.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device/trace.h"
#include "engine/engine.h"
#include "engine/placement.h"
#include "engine/slot.h"
#include "kv/pool.h"

namespace verbatim {

class RangeDevice;
class TimedDevice;

class Replica {
 public:
  explicit Replica(const EngineOptions& options);
  ~Replica();

  std::unique_ptr<Stream> open(const SessionOptions& options,
                               double expected_audio_s);  // any thread
  bool tick();                                            // false when there was nothing to do

  const ModelInfo& info() const { return model_->info(); }
  const MemoryUse& memory() const { return placement_.memory; }
  const std::string& device_name() const { return device_->info().name; }
  std::string quantization() const;
  std::vector<ProfileRow> profile() const;
  std::vector<SeenInput> inputs() const;

 private:
  void run();  // the loop
  void load(const Checkpoint& checkpoint, const Family& family);
  std::unique_ptr<KvPool> make_pool(const KvLayout& layout, std::int32_t pages);
  void admit();
  void open_session(Slot& slot);
  // Sessions that share a tick. Alone, a session has all its room; in company, long prompts and
  // long clips go in smaller pieces, so that the others' next token waits for less.
  int company() const;
  bool encode();
  bool decode();
  bool release();  // true when a slot was freed
  // An error of one session ends this slot alone.
  void guard(Slot& slot, const std::function<void()>& body);
  // An error of a pass ends the slots that took part.
  bool guard_pass(const std::vector<Slot*>& slots, const std::function<void()>& body);

  EngineOptions options_;
  Placement placement_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> second_;  // what a checked device compares with
  TimedDevice* timed_ = nullptr;
  RangeDevice* ranged_ = nullptr;
  std::vector<Stage> stages_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<KvPool> encoder_pool_;  // null where the encoder has no attention
  Trace trace_;
  EncodeBatch encode_batch_;
  DecodeBatch decode_batch_;
  std::vector<std::unique_ptr<Slot>> active_;
  std::vector<Slot*> partners_;  // of the running pass
  std::shared_ptr<Bell> bell_;
  std::mutex mutex_;  // of the two that follow
  std::deque<std::unique_ptr<Slot>> waiting_;
  int running_ = 0;  // slots that are taken
  std::atomic<bool> quit_{false};
  std::thread thread_;
};

}  // namespace verbatim
