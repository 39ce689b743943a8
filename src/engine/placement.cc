// The dry run.
#include "engine/placement.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/cpu_topology.h"
#include "checkpoint/checkpoint.h"
#include "device/dry_device.h"
#include "kv/codecs.h"

namespace verbatim {
namespace {

constexpr std::size_t kArenaSlack = std::size_t{1} << 16;  // roundings of small tensors

// Listens to everything, so that what runs only for a listener is counted too.
class CountingTap final : public Tap {
 public:
  bool wants(std::string_view) const override { return true; }
  void see(std::string_view, const Tensor&, const Spans&) override {}
};

std::int32_t pages_for(std::int64_t positions) {
  return static_cast<std::int32_t>((positions + kPagePositions - 1) / kPagePositions);
}

// Of a pool: a billion positions, years of audio. What a config.json claims beyond that would only
// fill memory with the ids of its pages.
constexpr std::int64_t kMostPages = std::int64_t{1} << 24;

// A window slides for ever: such sessions have no end that a context could set.
constexpr std::int64_t kEndless = std::int64_t{1} << 52;

std::int64_t chosen_context(const EngineOptions& options, const Model& model) {
  const bool is_endless = model.info().window > 0;
  const std::int64_t made_for = is_endless ? kEndless : model.info().max_context;
  if (options.max_context > 0) {
    if (is_endless) {
      fail(Code::kInvalidArgument,
           "--max-context: expected a model without a window; %s looks back %lld positions and "
           "needs no limit",
           model.info().name.c_str(), static_cast<long long>(model.info().window));
    }
    return options.max_context;
  }
  if (options.expected_audio_s <= 0) return made_for;
  const SessionNeeds needs = model.needs(options.expected_options, options.expected_audio_s);
  return std::min(made_for, needs.positions());
}

// Positions that a slot holds at once: all of its context, or the window before a pass and its rows
// in pages that begin and end anywhere.
std::int64_t held_positions(const EngineOptions& options, std::int64_t context,
                            std::int64_t window) {
  if (window <= 0) return context;
  return std::min(context, window + options.decode_room_rows + kPagePositions);
}

// The caches of a dry pass.
struct DrySlots {
  DrySlots(const EngineOptions& options, const KvLayout& layout, int codec, std::int64_t held)
      : pool(layout, codec, pages_for(held) * options.slots,
             reserve_addresses(
                 KvPool::storage_bytes(layout, codec, pages_for(held) * options.slots) + 64)) {}
  KvSequence& full(std::int64_t held, std::int64_t rows) {
    sequences.push_back(std::make_unique<KvSequence>(pool));
    check(sequences.back()->reserve(held), "the dry pool holds every slot");
    sequences.back()->advance(held - rows);
    return *sequences.back();
  }
  KvPool pool;
  std::vector<std::unique_ptr<KvSequence>> sequences;
};

void dry_encode(const EngineOptions& options, const Model& model, DryDevice& dry,
                const Placement& made, const Trace& trace) {
  const auto states = model.conv_states(dry);
  const std::int64_t frame = model.encode_rows(0);
  const std::int64_t rows = model.encode_rows(options.encode_room_s) + frame * options.slots;
  Tensor input;
  input.rows = rows;
  input.cols = model.encode_cols();
  input.stride = input.cols;
  const Buffer values = dry.allocate(static_cast<std::size_t>(rows * input.cols) * sizeof(float));
  input.data = values.data();
  std::optional<DrySlots> slots;
  KvSequence* kv = nullptr;
  if (made.encoder_held > 0) {
    const std::int64_t all = model.encoder_positions(rows) + kPagePositions;
    slots.emplace(options, model.info().encoder_kv, made.codec, all);
    kv = &slots->full(all, all - model.encoder_positions(0));
  }
  EncodeBatch batch(options.encode_room_s);
  batch.add({.rows = input,
             .audio_s = options.encode_room_s,
             .last = true,
             .conv = states.empty() ? nullptr : states[0].get(),
             .kv = kv});
  const ArenaScope scratch(dry.arena());
  model.encode(dry, batch, trace);
}

void dry_decode(const EngineOptions& options, const Model& model, std::span<const Stage> stages,
                const Placement& made, const Trace& trace) {
  DrySlots slots(options, model.info().kv, made.codec, made.held);
  DecodeBatch batch(options.decode_room_rows);
  for (int slot = 0; slot < options.slots; ++slot) {
    const std::int64_t rows = std::min<std::int64_t>(
        made.held, slot == 0 ? std::max(1, options.decode_room_rows - options.slots) + 1 : 1);
    const std::vector<RowInput> inputs(static_cast<std::size_t>(rows), RowInput{0, {}});
    batch.add(slots.full(made.held, rows), inputs, made.held - rows,
              slot == 0 ? Want::kLogits : Want::kToken);
  }
  model.decode(stages, batch, trace);
}

// One page of all layers.
std::size_t pool_page_bytes(const KvLayout& layout, int codec) {
  return kv_page_bytes(layout, codec) * static_cast<std::size_t>(layout.layers);
}

std::string mib(std::size_t bytes) {
  return formatted("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

LoadOptions load_options(const EngineOptions& options) {
  LoadOptions made;
  made.tokenizer = options.tokenizer;
  made.fallback_tokenizer = options.fallback_tokenizer;
  made.quant = options.quant;
  if (!options.calibration.empty()) made.bind.calibration = read_calibration(options.calibration);
  return made;
}

int thread_count(const EngineOptions& options) {
  return options.threads > 0 ? options.threads : cpu_topology().default_threads;
}

Placement place(const EngineOptions& options, const Checkpoint& checkpoint, const Family& family,
                const Device& device) {
  DryDevice dry(device);
  const Stage stage{&dry, 0, 1 << 20};
  const std::unique_ptr<Model> model =
      family.load(checkpoint, std::span<const Stage>(&stage, 1), load_options(options));
  Placement made;
  made.info = model->info();
  const Stage whole{&dry, 0, made.info.kv.layers};
  made.codec = kv_codec(options.kv.c_str());
  made.context = chosen_context(options, *model);
  made.held = held_positions(options, made.context, made.info.window);
  if (made.held > kMostPages * kPagePositions / options.slots) {
    fail(Code::kExhausted,
         "a context of %lld positions for %d slots: at most %lld are possible; --max-context asks "
         "for fewer",
         static_cast<long long>(made.held), options.slots,
         static_cast<long long>(kMostPages * kPagePositions / options.slots));
  }
  if (made.info.encoder_kv.layers > 0) {
    made.encoder_held =
        model->encoder_positions(model->encode_rows(options.encode_room_s)) + kPagePositions;
    made.encoder_pages = pages_for(made.encoder_held) * options.slots;
  }
  made.memory.weights = dry.weights_bytes() + dry.vectors_bytes();

  CountingTap tap;
  const Trace trace = options.tap != nullptr ? Trace(&tap) : Trace();
  const std::size_t before = dry.vectors_bytes();
  for (int slot = 0; slot < options.slots; ++slot) model->conv_states(dry);
  made.memory.state = dry.vectors_bytes() - before;
  dry_encode(options, *model, dry, made, trace);
  dry_decode(options, *model, std::span<const Stage>(&whole, 1), made, trace);
  made.memory.arena = dry.arena().high_water() + kArenaSlack;

  const std::size_t page = pool_page_bytes(made.info.kv, made.codec);
  const std::size_t encoder_kv = pool_page_bytes(made.info.encoder_kv, made.codec) *
                                 static_cast<std::size_t>(made.encoder_pages);
  made.pages = pages_for(made.held) * options.slots;
  made.memory.kv = page * static_cast<std::size_t>(made.pages) + encoder_kv;
  const SessionNeeds minute = model->needs(options.expected_options, 60);
  made.kv_bytes_per_minute = static_cast<double>(page) *
                             static_cast<double>(std::min(made.held, minute.positions())) /
                             kPagePositions;

  if (options.memory_limit_bytes == 0 || made.memory.total() <= options.memory_limit_bytes)
    return made;
  const std::size_t fixed = made.memory.total() - made.memory.kv + encoder_kv;
  const bool may_shrink =
      options.max_context == 0 && options.expected_audio_s <= 0 && made.info.window == 0;
  const std::size_t left =
      options.memory_limit_bytes > fixed ? options.memory_limit_bytes - fixed : 0;
  const auto fits =
      static_cast<std::int32_t>(left / page / static_cast<std::size_t>(options.slots));
  if (may_shrink && fits > 0) {
    made.context = made.held = std::int64_t{fits} * kPagePositions;
    made.pages = fits * options.slots;
    made.memory.kv = page * static_cast<std::size_t>(made.pages) + encoder_kv;
    return made;
  }
  fail(Code::kExhausted,
       "weights %s + KV %s for %lld positions + arena %s + state %s = %s, above the memory limit "
       "of %s",
       mib(made.memory.weights).c_str(), mib(made.memory.kv).c_str(),
       static_cast<long long>(made.held) * options.slots, mib(made.memory.arena).c_str(),
       mib(made.memory.state).c_str(), mib(made.memory.total()).c_str(),
       mib(options.memory_limit_bytes).c_str());
}

}  // namespace verbatim
