// For tests: a model on a device of its own, and the loop that carries its sessions.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device/dry_device.h"
#include "device/test_place.h"
#include "kv/codecs.h"
#include "models/model.h"

namespace verbatim {

inline std::unique_ptr<Device> one_thread(HeadFilterUse filter = HeadFilterUse::kWhereFaster) {
  DeviceOptions options;
  options.head_filter = filter;
  options.threads = 1;
  options.pin_threads = false;
  return open_device("cpu", options);
}

// What loading says without placing a byte.
inline std::unique_ptr<Model> load_dry(const std::string& folder, const LoadOptions& options = {}) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const std::unique_ptr<Device> real = one_thread();
  DryDevice dry(*real);
  const Stage stage{&dry, 0, 1024};
  return recognise_family(checkpoint).load(checkpoint, std::span(&stage, 1), options);
}

// Noise: no model has anything to say about it, so it is decoded to its end.
inline std::vector<float> noise_clip(std::int64_t samples, std::uint32_t seed = 1) {
  return TestValues(seed).uniforms(samples, 0.3F);
}

// A tap that keeps the values of one name, whatever their type.
class KeepTap final : public Tap {
 public:
  explicit KeepTap(std::string name) : name_(std::move(name)) {}
  bool wants(std::string_view name) const override { return name == name_; }
  void see(std::string_view name, const Tensor& rows, const Spans&) override {
    if (name != name_) return;
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const std::byte* row = rows.data + r * rows.stride * dtype_bytes(rows.dtype);
      bytes.insert(bytes.end(), row, row + rows.cols * dtype_bytes(rows.dtype));
    }
  }
  std::vector<std::byte> bytes;

 private:
  std::string name_;
};

class ModelRun {
 public:
  explicit ModelRun(const std::string& folder, Tap* tap = nullptr, int slots = 1,
                    const LoadOptions& options = {},
                    HeadFilterUse filter = HeadFilterUse::kWhereFaster)
      : checkpoint_(Checkpoint::open(folder)), device_(one_thread(filter)), trace_(tap) {
    stages_ = {{device_.get(), 0, 1024}};
    model_ = recognise_family(checkpoint_).load(checkpoint_, stages_, options);
    stages_[0].end_layer = model_->info().kv.layers;
    device_->set_arena(Arena(device_->allocate(std::size_t{48} << 20)));
    pool_ = make_pool(model_->info().kv, slots);
    if (model_->info().encoder_kv.layers > 0)
      encoder_pool_ = make_pool(model_->info().encoder_kv, slots);
  }

  const Model& model() const { return *model_; }

  // At most 1024 positions at once; each session has its own caches for the life of this.
  std::unique_ptr<Session> open(const SessionOptions& options, std::int64_t positions = 1024) {
    SlotResources& slot = slots_.emplace_back();
    slot.kv.push_back(std::make_unique<KvSequence>(*pool_));
    check(slot.kv[0]->reserve(positions), "the pool holds every session of a test");
    if (encoder_pool_ != nullptr) slot.kv.push_back(std::make_unique<KvSequence>(*encoder_pool_));
    slot.max_positions = positions;
    slot.conv = model_->conv_states(*device_);
    return model_->open(options, slot, trace_);
  }
  // Gives back what the sessions so far took; they must be gone.
  void clear() { slots_.clear(); }

  // One pass; false when the session planned nothing.
  bool encode(Session& session, double room_s = 4) {
    EncodeBatch batch(room_s);
    session.plan(batch);
    if (batch.empty()) return false;
    const ArenaScope scratch(device_->arena());
    model_->encode(*device_, batch, trace_);
    session.take(batch);
    return true;
  }
  bool decode(Session& session, std::int32_t rows = 512) {
    DecodeBatch batch(rows);
    session.plan(batch);
    if (batch.empty()) return false;
    model_->decode(stages_, batch, trace_);
    session.take(batch);
    return true;
  }

  // The whole clip, from push to the last event.
  std::vector<Event> run(std::span<const float> pcm, const SessionOptions& options,
                         double room_s = 4, std::int32_t rows = 512) {
    std::vector<Event> events;
    {
      const std::unique_ptr<Session> session = open(options);
      session->push(pcm);
      session->finish();
      while (!session->done()) {
        const bool encoded = encode(*session, room_s);
        const bool decoded = decode(*session, rows);
        check(encoded || decoded || session->done(), "a session that is not done goes on");
      }
      session->drain(events);
    }
    clear();
    return events;
  }

 private:
  std::unique_ptr<KvPool> make_pool(const KvLayout& layout, int slots) {
    const int codec = kv_codec("f32");
    const std::int32_t pages = slots * 16;
    return std::make_unique<KvPool>(layout, codec, pages,
                                    device_->allocate(KvPool::storage_bytes(layout, codec, pages)));
  }

  Checkpoint checkpoint_;
  std::unique_ptr<Device> device_;
  std::vector<Stage> stages_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KvPool> pool_;
  std::unique_ptr<KvPool> encoder_pool_;  // null where the encoder has no attention
  Trace trace_;
  std::deque<SlotResources> slots_;  // sessions keep references to them
};

// The transcript that ends these events; the test's own mistake when there is none.
inline const Transcript& transcript_of(const std::vector<Event>& events) {
  const Done* done = events.empty() ? nullptr : std::get_if<Done>(&events.back());
  check(done != nullptr, "the events end with a transcript");
  return done->transcript;
}

}  // namespace verbatim
