// The loop.
#include "engine/replica.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/thread_pool.h"
#include "device/checked_device.h"
#include "device/range_device.h"
#include "device/timed_device.h"
#include "engine/auto_quant.h"

namespace verbatim {
namespace {

std::unique_ptr<Device> open_plain(const EngineOptions& options, const std::string& isa) {
  DeviceOptions device;
  device.threads = options.threads;
  device.isa = isa;
  device.pin_threads = options.pin_threads;
  if (!options.head_filter) device.head_filter = HeadFilterUse::kNever;
  return open_device(options.device, device);
}

// A clip that leaves no room for even a short answer is refused before any work.
constexpr std::int64_t kShortAnswer = 64;

// Rows of a prompt that are worth a pass over the weights, however many sessions wait for it.
constexpr std::int32_t kLeastRows = 32;

}  // namespace

Replica::Replica(const EngineOptions& options)
    : options_(options),
      encode_batch_(options.encode_room_s),
      decode_batch_(options.decode_room_rows),
      bell_(std::make_shared<Bell>()) {
  check(options.slots > 0, "an engine has slots");
  flush_denormals();
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  const Family& family = recognise_family(checkpoint);
  device_ = open_plain(options, options.isa);
  if (options.checked) {
    second_ = open_plain(options, "scalar");
    device_ = std::make_unique<CheckedDevice>(std::move(device_), *second_);
  }
  if (options.profile) {
    auto timed = std::make_unique<TimedDevice>(std::move(device_));
    timed_ = timed.get();
    device_ = std::move(timed);
  }
  if (options.ranges) {
    auto ranged = std::make_unique<RangeDevice>(std::move(device_));
    ranged_ = ranged.get();
    device_ = std::move(ranged);
  }
  options_.quant = chosen_quantization(options, checkpoint, family, *device_);
  options_.auto_quant = false;
  placement_ = place(options_, checkpoint, family, *device_);
  stages_ = {{device_.get(), 0, placement_.info.kv.layers}};
  load(checkpoint, family);
  device_->set_arena(Arena(device_->allocate(placement_.memory.arena)));
  pool_ = make_pool(placement_.info.kv, placement_.pages);
  if (placement_.encoder_pages > 0)
    encoder_pool_ = make_pool(placement_.info.encoder_kv, placement_.encoder_pages);
  trace_ = Trace(options.tap);
  if (options.own_thread) thread_ = std::thread([this] { run(); });
}

std::string Replica::quantization() const {
  return quantization_text(options_.quant);
}

void Replica::load(const Checkpoint& checkpoint, const Family& family) {
  LoadOptions load = load_options(options_);
  ThreadPool workers(thread_count(options_), options_.pin_threads);
  load.bind.workers = &workers;
  load.bind.progress = options_.loading;
  model_ = family.load(checkpoint, stages_, load);
}

std::unique_ptr<KvPool> Replica::make_pool(const KvLayout& layout, std::int32_t pages) {
  return std::make_unique<KvPool>(
      layout, placement_.codec, pages,
      device_->allocate(KvPool::storage_bytes(layout, placement_.codec, pages)));
}

Replica::~Replica() {
  quit_ = true;
  bell_->ring();
  if (thread_.joinable()) thread_.join();
  for (const auto& slot : active_) {
    if (!slot->is_over()) slot->fail(Code::kCancelled, "the engine was shut down");
  }
  for (const auto& slot : waiting_) slot->fail(Code::kCancelled, "the engine was shut down");
}

std::unique_ptr<Stream> Replica::open(const SessionOptions& options, double expected_audio_s) {
  std::int64_t positions = placement_.context;
  if (expected_audio_s > 0) {
    const SessionNeeds needs = model_->needs(options, expected_audio_s);
    const std::int64_t least = needs.prompt_rows + std::min(needs.output_rows, kShortAnswer);
    if (least > placement_.context) {
      fail(Code::kExhausted,
           "%.1f s of audio need %lld positions of context, and %lld are there; --max-context and "
           "--memory-limit decide how many (the checkpoint was made for %lld)",
           expected_audio_s, static_cast<long long>(least),
           static_cast<long long>(placement_.context),
           static_cast<long long>(placement_.info.max_context));
    }
    positions = std::min(positions, needs.positions());
  }
  auto mailbox = std::make_shared<Mailbox>();
  mailbox->bell = bell_;
  auto stream = std::make_unique<Stream>(mailbox);
  {
    const std::lock_guard lock(mutex_);
    // Those that left the line make room at once, and free slots are no line.
    std::erase_if(waiting_, [](const std::unique_ptr<Slot>& slot) { return slot->is_cancelled(); });
    const std::int64_t room = std::int64_t{options_.waiting} + options_.slots - running_;
    if (static_cast<std::int64_t>(waiting_.size()) >= room) {
      fail(Code::kExhausted, "%d sessions wait already, and no more may", options_.waiting);
    }
    waiting_.push_back(std::make_unique<Slot>(std::move(mailbox), options, positions));
  }
  bell_->ring();
  return stream;
}

void Replica::run() {
  flush_denormals();
  while (!quit_) {
    if (tick()) continue;
    std::unique_lock lock(bell_->mutex);
    bell_->rung.wait(lock, [this] { return bell_->is_rung || quit_; });
    bell_->is_rung = false;
  }
}

void Replica::guard(Slot& slot, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    slot.fail(error.code(), error.what());
  } catch (const std::exception& error) {
    slot.fail(Code::kInternal, error.what());
  }
}

bool Replica::guard_pass(const std::vector<Slot*>& slots, const std::function<void()>& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    for (Slot* slot : slots) slot->fail(error.code(), error.what());
  } catch (const std::exception& error) {
    for (Slot* slot : slots) slot->fail(Code::kInternal, error.what());
  }
  return false;
}

void Replica::admit() {
  while (static_cast<int>(active_.size()) < options_.slots) {
    std::unique_ptr<Slot> slot;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      slot = std::move(waiting_.front());
      waiting_.pop_front();
      if (slot->is_cancelled()) continue;
      ++running_;
    }
    guard(*slot, [&] { open_session(*slot); });
    active_.push_back(std::move(slot));  // the next release takes what failed
  }
}

void Replica::open_session(Slot& slot) {
  SlotResources& room = slot.resources();
  room.max_positions = slot.positions();
  room.spool_folder = options_.spool_folder;
  // Every slot's share of the pools is there: they were made for all slots at their fullest.
  room.kv.push_back(std::make_unique<KvSequence>(*pool_));
  check(room.kv[0]->reserve(std::min(slot.positions(), placement_.held)),
        "a slot's pages are free when it is");
  if (encoder_pool_ != nullptr) {
    room.kv.push_back(std::make_unique<KvSequence>(*encoder_pool_));
    check(room.kv[1]->reserve(placement_.encoder_held), "a slot's pages are free when it is");
  }
  room.conv = model_->conv_states(*device_);
  slot.set_session(model_->open(slot.options(), room, trace_));
}

int Replica::company() const {
  return std::max(1, static_cast<int>(active_.size()));
}

bool Replica::encode() {
  encode_batch_.clear(0);
  partners_.clear();
  for (const auto& slot : active_) {
    encode_batch_.grant(options_.encode_room_s / company());
    const std::size_t before = encode_batch_.items().size();
    guard(*slot, [&] { slot->session()->plan(encode_batch_); });
    if (encode_batch_.items().size() > before) partners_.push_back(slot.get());
  }
  if (encode_batch_.empty()) return false;
  const Clock::time_point start = Clock::now();
  const ArenaScope scratch(device_->arena());
  const bool ran = guard_pass(partners_, [&] { model_->encode(*device_, encode_batch_, trace_); });
  if (!ran) return true;
  const double spent = seconds_since(start);
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    Slot& slot = *partners_[i];
    slot.count(spent, 0, 0, encode_batch_.items()[i].audio.rows);
    guard(slot, [&] { slot.session()->take(encode_batch_); });
  }
  return true;
}

bool Replica::decode() {
  // Rows for prompts; every session's one next row fits besides.
  const std::int32_t room = std::max(1, options_.decode_room_rows - options_.slots);
  const std::int32_t share = std::max(kLeastRows, room / company());
  decode_batch_.clear(0);
  partners_.clear();
  for (const auto& slot : active_) {
    if (slot->is_over()) continue;
    const auto planned = static_cast<std::int32_t>(decode_batch_.rows().size());
    decode_batch_.grant(std::clamp(room - planned, 0, share));
    const std::size_t before = decode_batch_.items().size();
    guard(*slot, [&] { slot->session()->plan(decode_batch_); });
    if (decode_batch_.items().size() > before) partners_.push_back(slot.get());
  }
  if (decode_batch_.empty()) return false;
  const Clock::time_point start = Clock::now();
  const bool ran = guard_pass(partners_, [&] { model_->decode(stages_, decode_batch_, trace_); });
  if (!ran) return true;
  const double spent = seconds_since(start);
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    Slot& slot = *partners_[i];
    const bool step =
        decode_batch_.spans()[i].rows == 1 && decode_batch_.items()[i].want != Want::kNothing;
    slot.count(0, step ? 0 : spent, step ? spent : 0, 0);
    guard(slot, [&] { slot.session()->take(decode_batch_); });
  }
  return true;
}

bool Replica::release() {
  // Whatever ended a session, its last words come before its slot goes.
  for (const auto& slot : active_) slot->post_events();
  const auto gone = std::erase_if(active_, [](const std::unique_ptr<Slot>& slot) {
    return slot->is_over() || slot->session()->done() || slot->is_cancelled();
  });
  if (gone == 0) return false;
  const std::lock_guard lock(mutex_);
  running_ -= static_cast<int>(gone);
  return true;
}

bool Replica::tick() {
  // A slot that was freed is work: somebody may wait for it.
  bool worked = false;
  admit();
  for (const auto& slot : active_) {
    if (!slot->is_over()) guard(*slot, [&] { worked |= slot->deliver(); });
  }
  worked |= release();
  worked |= encode();
  worked |= release();
  worked |= decode();
  worked |= release();
  return worked;
}

std::vector<SeenInput> Replica::inputs() const {
  return ranged_ == nullptr ? std::vector<SeenInput>() : ranged_->seen();
}

std::vector<ProfileRow> Replica::profile() const {
  std::vector<ProfileRow> rows;
  if (timed_ == nullptr) return rows;
  for (const OpTime& each : timed_->times())
    rows.push_back({each.op, each.name, each.calls, each.seconds});
  return rows;
}

}  // namespace verbatim
