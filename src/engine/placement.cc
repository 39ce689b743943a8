// The dry run.
#include "engine/placement.h"

#include <algorithm>
#include <vector>

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

std::int64_t chosen_context(const EngineOptions& options, const Model& model) {
  const std::int64_t made_for = model.info().max_context;
  if (options.max_context > 0) return options.max_context;
  if (options.expected_audio_s <= 0) return made_for;
  const SessionNeeds needs = model.needs(options.expected_options, options.expected_audio_s);
  return std::min(made_for, needs.positions());
}

void dry_encode(const EngineOptions& options, const Model& model, DryDevice& dry,
                const Trace& trace) {
  const auto states = model.conv_states(dry);
  const std::int64_t frame = model.encode_rows(0);
  const std::int64_t rows = model.encode_rows(options.encode_room_s) + frame * options.slots;
  Tensor pcm;
  const Buffer samples = dry.allocate(static_cast<std::size_t>(rows) * sizeof(float));
  pcm.data = samples.data();
  pcm.rows = rows;
  pcm.cols = 1;
  pcm.stride = 1;
  EncodeBatch batch(options.encode_room_s);
  batch.add(pcm, options.encode_room_s, states.empty() ? nullptr : states[0].get(), 0, true);
  const ArenaScope scratch(dry.arena());
  model.encode(dry, batch, trace);
}

void dry_decode(const EngineOptions& options, const Model& model, std::span<const Stage> stages,
                std::int64_t context, int codec, const Trace& trace) {
  const KvLayout& layout = model.info().kv;
  const std::int32_t pages = pages_for(context) * options.slots;
  KvPool pool(layout, codec, pages,
              reserve_addresses(KvPool::storage_bytes(layout, codec, pages) + 64));
  std::vector<std::unique_ptr<KvSequence>> sequences;
  DecodeBatch batch(options.decode_room_rows);
  for (int slot = 0; slot < options.slots; ++slot) {
    const std::int64_t rows = std::min<std::int64_t>(
        context, slot == 0 ? std::max(1, options.decode_room_rows - options.slots) + 1 : 1);
    sequences.push_back(std::make_unique<KvSequence>(pool));
    KvSequence& kv = *sequences.back();
    check(kv.reserve(context), "the dry pool holds every slot");
    kv.advance(context - rows);
    const std::vector<RowInput> inputs(static_cast<std::size_t>(rows), RowInput{0, {}});
    batch.add(kv, inputs, context - rows, slot == 0 ? Want::kLogits : Want::kToken);
  }
  model.decode(stages, batch, trace);
}

std::string mib(std::size_t bytes) {
  return formatted("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

LoadOptions load_options(const EngineOptions& options) {
  return {options.tokenizer, options.fallback_tokenizer};
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
  if (made.context > kMostPages * kPagePositions / options.slots) {
    fail(Code::kExhausted,
         "a context of %lld positions for %d slots: at most %lld are possible; --max-context asks "
         "for fewer",
         static_cast<long long>(made.context), options.slots,
         static_cast<long long>(kMostPages * kPagePositions / options.slots));
  }
  made.memory.weights = dry.weights_bytes() + dry.vectors_bytes();

  CountingTap tap;
  const Trace trace = options.tap != nullptr ? Trace(&tap) : Trace();
  const std::size_t before = dry.vectors_bytes();
  for (int slot = 0; slot < options.slots; ++slot) model->conv_states(dry);
  made.memory.state = dry.vectors_bytes() - before;
  dry_encode(options, *model, dry, trace);
  dry_decode(options, *model, std::span<const Stage>(&whole, 1), made.context, made.codec, trace);
  made.memory.arena = dry.arena().high_water() + kArenaSlack;

  const std::size_t page =
      kv_page_bytes(made.info.kv, made.codec) * static_cast<std::size_t>(made.info.kv.layers);
  made.pages = pages_for(made.context) * options.slots;
  made.memory.kv = page * static_cast<std::size_t>(made.pages);
  const SessionNeeds minute = model->needs(options.expected_options, 60);
  made.kv_bytes_per_minute =
      static_cast<double>(page) * static_cast<double>(minute.positions()) / kPagePositions;

  if (options.memory_limit_bytes == 0 || made.memory.total() <= options.memory_limit_bytes)
    return made;
  const std::size_t fixed = made.memory.total() - made.memory.kv;
  const bool may_shrink = options.max_context == 0 && options.expected_audio_s <= 0;
  const std::size_t left =
      options.memory_limit_bytes > fixed ? options.memory_limit_bytes - fixed : 0;
  const auto fits =
      static_cast<std::int32_t>(left / page / static_cast<std::size_t>(options.slots));
  if (may_shrink && fits > 0) {
    made.context = std::int64_t{fits} * kPagePositions;
    made.pages = fits * options.slots;
    made.memory.kv = page * static_cast<std::size_t>(made.pages);
    return made;
  }
  fail(Code::kExhausted,
       "weights %s + KV %s for %lld positions + arena %s + state %s = %s, above the memory limit "
       "of %s",
       mib(made.memory.weights).c_str(), mib(made.memory.kv).c_str(),
       static_cast<long long>(made.context) * options.slots, mib(made.memory.arena).c_str(),
       mib(made.memory.state).c_str(), mib(made.memory.total()).c_str(),
       mib(options.memory_limit_bytes).c_str());
}

}  // namespace verbatim
