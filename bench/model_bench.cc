// Loads random weights, fills the caches, and runs the model's passes as the replica runs them.
#include "bench/model_bench.h"

#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/cpu_topology.h"
#include "base/error.h"
#include "bench/commands.h"
#include "bench/kv_page.h"
#include "bench/random_checkpoint.h"
#include "cpu/kernel_table.h"

namespace verbatim {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 20;  // of the ceiling, more than any cache

// Values of ordinary size, none of them zero.
std::vector<float> ordinary(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<float>(i * 37 % 64) - 31.5F) / 32.0F;
  return values;
}

std::int64_t paged(std::int64_t positions) {
  return (positions + kPagePositions - 1) / kPagePositions * kPagePositions;
}

void set_length(KvSequence& kv, std::int64_t length) {
  if (length < kv.length()) kv.truncate(length);
  kv.advance(length - kv.length());
}

double longest_encode_s(const ModelShape& shape) {
  double longest_s = 0;
  for (const double audio_s : shape.encode_s) longest_s = std::max(longest_s, audio_s);
  for (const Turn& turn : shape.turns) longest_s = std::max(longest_s, turn.encode_s);
  return longest_s;
}

// In the decoder's cache, behind any pass.
std::int64_t longest_context(const ModelShape& shape) {
  std::int64_t longest = 0;
  for (const std::int64_t rows : shape.prompts) longest = std::max(longest, rows);
  for (const std::int64_t context : shape.contexts) longest = std::max(longest, context + 1);
  for (const Turn& turn : shape.turns)
    longest = std::max(longest, kTurnContext + turn.rows + turn.steps);
  return longest;
}

}  // namespace

const char* Peaks::bound(const Work& work) const {
  if (read_s(work) >= arithmetic_s(work)) return "read";
  const bool is_dot =
      work.byte_products / byte_products_per_s > work.multiply_adds / multiply_adds_per_s;
  return is_dot ? "dot" : "fma";
}

double ModelPass::floor_s(const Peaks& peaks) const {
  double sum = 0;
  for (const Work& part : parts) sum += peaks.floor_s(part);
  return sum;
}

Work ModelPass::work() const {
  Work sum;
  for (const Work& part : parts) sum.add(part);
  return sum;
}

ModelBench::ModelBench(const ModelShape& shape, const ModelBenchSetup& setup)
    : condition_(shape.condition),
      threads_(setup.threads > 0 ? setup.threads : cpu_topology().default_threads),
      pool_(std::make_unique<ThreadPool>(threads_, true)) {
  flush_denormals();
  const KernelTable& table = table_for(setup.isa);
  roofline_ = &roofline(table.isa);
  DeviceOptions options;
  options.threads = threads_;
  options.isa = table.isa;
  if (!setup.head_filter) options.head_filter = HeadFilterUse::kNever;
  device_ = open_device("cpu", options);
  if (setup.profile) {
    auto timed = std::make_unique<TimedDevice>(std::move(device_));
    timed_ = timed.get();
    device_ = std::move(timed);
  }
  load(shape, setup);
  counting_ = std::make_unique<WorkDevice>(*device_);
  replay_ = std::make_unique<KernelReplay>(*device_);
  make_caches(shape);
  add_passes(shape);
  read_ = allocate_host(kReadBytes);
  const std::vector<float> values = ordinary(1 << 10);
  for (std::size_t at = 0; at < kReadBytes; at += values.size() * sizeof(float))
    std::memcpy(read_.data() + at, values.data(), values.size() * sizeof(float));
}

void ModelBench::load(const ModelShape& shape, const ModelBenchSetup& setup) {
  const RandomCheckpoint random(shape);
  const Checkpoint checkpoint = random.open();
  const Family& family = recognise_family(checkpoint);
  EngineOptions options;
  options.kv = setup.kv;
  options.quant = setup.quant;
  options.encode_room_s = longest_encode_s(shape);
  most_rows_ = options.decode_room_rows;
  placement_ = place(options, checkpoint, family, *device_);
  const Stage stage{device_.get(), 0, placement_.info.kv.layers};
  LoadOptions load = load_options(options);
  load.bind.workers = pool_.get();
  load.bind.progress = [&](double) { random.release(); };
  const Clock::time_point start = Clock::now();
  model_ = family.load(checkpoint, std::span(&stage, 1), load);
  loaded_ = {seconds_since(start), random.stored_bytes(), peak_resident_bytes()};
  device_->set_arena(Arena(device_->allocate(placement_.memory.arena)));
}

std::unique_ptr<KvPool> ModelBench::make_pool(const KvLayout& layout, std::int64_t positions) {
  const auto pages = static_cast<std::int32_t>(positions / kPagePositions);
  auto made = std::make_unique<KvPool>(
      layout, placement_.codec, pages,
      device_->allocate(KvPool::storage_bytes(layout, placement_.codec, pages)));
  const std::vector<std::byte> head =
      kv_head_page(static_cast<std::size_t>(placement_.codec), layout.head_dim);
  for (std::int32_t layer = 0; layer < layout.layers; ++layer) {
    for (std::int32_t page = 0; page < pages; ++page) {
      for (std::int32_t i = 0; i < layout.kv_heads; ++i) {
        std::memcpy(made->page(layer, page) + static_cast<std::size_t>(i) * head.size(),
                    head.data(), head.size());
      }
    }
  }
  return made;
}

void ModelBench::make_caches(const ModelShape& shape) {
  const ModelInfo& info = model_->info();
  const std::int64_t positions = paged(longest_context(shape));
  kv_pool_ = make_pool(info.kv, positions);
  kv_ = std::make_unique<KvSequence>(*kv_pool_);
  check(kv_->reserve(positions), "the pool was made for this cache");
  conv_ = model_->conv_states(*device_);
  const std::int64_t rows = model_->encode_rows(longest_encode_s(shape));
  audio_ = ordinary(rows * model_->encode_cols());
  if (info.encoder_kv.layers == 0) return;
  // All of the window, in whole tokens.
  const std::int64_t window = model_->encoder_positions(0);
  const std::int64_t token = model_->encoder_positions(model_->encode_rows(0)) - window;
  encoder_held_ = (window + token - 1) / token * token;
  const std::int64_t all = paged(encoder_held_ + model_->encoder_positions(rows) - window);
  encoder_pool_ = make_pool(info.encoder_kv, all);
  encoder_kv_ = std::make_unique<KvSequence>(*encoder_pool_);
  check(encoder_kv_->reserve(all), "the pool was made for this cache");
  encoder_kv_->advance(encoder_held_);
}

void ModelBench::add_passes(const ModelShape& shape) {
  encode(0, *counting_);  // tells how wide its rows are
  for (const double audio_s : shape.encode_s) {
    add_pass({.kind = PassKind::kEncode,
              .name = formatted("encoder, %g s a pass", audio_s),
              .audio_s = audio_s,
              .encode_s = audio_s});
  }
  for (const std::int64_t rows : shape.prompts) {
    add_pass({.kind = PassKind::kPrompt,
              .name = formatted("prompt of %lld rows", static_cast<long long>(rows)),
              .rows = rows});
  }
  for (const std::int64_t context : shape.contexts) {
    add_pass({.kind = PassKind::kStep,
              .name = formatted("step behind %lld", static_cast<long long>(context)),
              .context = context,
              .steps = 1});
  }
  for (const Turn& turn : shape.turns) {
    add_pass({.kind = PassKind::kTurn,
              .name = turn.name,
              .audio_s = turn.audio_s,
              .encode_s = turn.encode_s,
              .context = kTurnContext,
              .rows = turn.rows,
              .steps = turn.steps});
  }
}

// What it needs is asked of the pass itself, part by part.
void ModelBench::add_pass(ModelPass pass) {
  const auto count = [&](ModelPass part) {
    part.context = pass.context;
    counting_->clear();
    run(part, *counting_);
    pass.parts.push_back(counting_->total());
    for (const auto& [key, work] : counting_->table()) pass.work_by_op[key].add(work);
    pass.calls.insert(pass.calls.end(), counting_->calls().begin(), counting_->calls().end());
  };
  if (pass.encode_s > 0) count({.encode_s = pass.encode_s});
  if (pass.rows > 0) count({.rows = pass.rows});
  if (pass.steps > 0) count({.steps = pass.steps});
  replay_->fit(pass.calls);
  passes_.push_back(std::move(pass));
}

Peaks ModelBench::peaks() {
  Peaks found;
  found.read_bytes_per_s = read_bytes_per_s(*roofline_, *pool_, {read_.data(), kReadBytes});
  found.multiply_adds_per_s = multiply_adds_per_s(*roofline_, *pool_);
  found.byte_products_per_s = byte_products_per_s(*roofline_, *pool_);
  return found;
}

double ModelBench::run(const ModelPass& pass) {
  const Clock::time_point start = Clock::now();
  run(pass, *device_);
  return seconds_since(start);
}

ReplayTimes ModelBench::run_kernels(const ModelPass& pass) {
  return replay_->run(pass.calls);
}

std::vector<OpTime> ModelBench::times() const {
  return timed_ != nullptr ? timed_->times() : std::vector<OpTime>{};
}

void ModelBench::run(const ModelPass& pass, Device& device) {
  if (pass.encode_s > 0) encode(pass.encode_s, device);
  set_length(*kv_, pass.context);
  for (std::int64_t left = pass.rows; left > 0;) {
    const std::int64_t now = std::min<std::int64_t>(left, most_rows_);
    left -= now;
    decode(now, left == 0 ? Want::kToken : Want::kNothing, device);
  }
  for (std::int64_t i = 0; i < pass.steps; ++i) decode(1, Want::kToken, device);
}

void ModelBench::encode(double audio_s, Device& device) {
  const std::int64_t rows = model_->encode_rows(audio_s);
  EncodeInput input;
  input.rows = host_rows(
      std::span(audio_).first(static_cast<std::size_t>(rows * model_->encode_cols())), rows);
  input.audio_s = audio_s;
  input.conv = conv_.empty() ? nullptr : conv_[0].get();
  input.kv = encoder_kv_.get();
  if (encoder_kv_ != nullptr) {
    set_length(*encoder_kv_, encoder_held_);
    const std::int64_t frames = model_->encoder_positions(rows) - model_->encoder_positions(0);
    input.position = encoder_held_ * (rows / frames);
  }
  EncodeBatch batch(audio_s);
  const int ticket = batch.add(input);
  const ArenaScope scratch(device.arena());
  model_->encode(device, batch, Trace());
  check(batch.audio(ticket).rows > 0, "an encoder pass makes rows");
  if (speech_.empty()) speech_ = ordinary(batch.audio(ticket).cols);
}

// Every row is a token with audio added, where the model has such rows.
void ModelBench::decode(std::int64_t rows, Want want, Device& device) {
  RowInput row;
  row.token = model_->info().vocab_size - 1;
  row.audio = host_rows(speech_, 1);
  inputs_.assign(static_cast<std::size_t>(rows), row);
  DecodeBatch batch(static_cast<std::int32_t>(rows));
  batch.add(*kv_, inputs_, kv_->length(), want, condition_);
  const Stage stage{&device, 0, model_->info().kv.layers};
  model_->decode(std::span(&stage, 1), batch, Trace());
}

}  // namespace verbatim
