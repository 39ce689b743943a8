// Loads random weights, fills the caches, and runs the model's passes as the replica runs them.
#include "bench/model_bench.h"

#include <cstring>
#include <set>
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

constexpr std::size_t kReadBytes = std::size_t{512} << 20;  // of the ceiling, more than any cache
constexpr double kClipS = 60;                               // whose prompt is measured

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

std::unique_ptr<KvSequence> full_cache(KvPool& pool, std::int64_t length, std::int64_t rows) {
  auto made = std::make_unique<KvSequence>(pool);
  check(made->reserve(length + rows), "the pool was made for these caches");
  made->advance(length);
  return made;
}

}  // namespace

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
  device_ = open_device("cpu", options);
  if (setup.profile) {
    auto timed = std::make_unique<TimedDevice>(std::move(device_));
    timed_ = timed.get();
    device_ = std::move(timed);
  }
  load(shape, setup);
  counting_ = std::make_unique<WorkDevice>(*device_);
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
  options.encode_room_s = *std::max_element(shape.encode_s.begin(), shape.encode_s.end());
  placement_ = place(options, checkpoint, family, *device_);
  const Stage stage{device_.get(), 0, placement_.info.kv.layers};
  const Clock::time_point start = Clock::now();
  model_ = family.load(checkpoint, std::span(&stage, 1), load_options(options));
  load_s_ = seconds_since(start);
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
  const std::int64_t prompt = model_->needs({}, kClipS).prompt_rows;
  std::set<std::int64_t> contexts(shape.contexts.begin(), shape.contexts.end());
  contexts.insert(0);  // before the prompt
  std::int64_t positions = 0;
  for (const std::int64_t context : contexts) positions += paged(context + prompt);
  kv_pool_ = make_pool(info.kv, positions);
  for (const std::int64_t context : contexts) kv_.push_back(full_cache(*kv_pool_, context, prompt));
  conv_ = model_->conv_states(*device_);
  double longest_s = 0;
  for (const double audio_s : shape.encode_s) longest_s = std::max(longest_s, audio_s);
  const std::int64_t rows = model_->encode_rows(longest_s);
  audio_ = ordinary(rows * model_->encode_cols());
  if (info.encoder_kv.layers == 0) return;
  // All of the window, in whole tokens.
  const std::int64_t window = model_->encoder_positions(0);
  const std::int64_t token = model_->encoder_positions(model_->encode_rows(0)) - window;
  const std::int64_t held = (window + token - 1) / token * token;
  const std::int64_t added = model_->encoder_positions(rows) - window;
  encoder_pool_ = make_pool(info.encoder_kv, paged(held + added));
  encoder_kv_ = full_cache(*encoder_pool_, held, added);
}

void ModelBench::add_passes(const ModelShape& shape) {
  for (const double audio_s : shape.encode_s) {
    add_pass(PassKind::kEncode, audio_s, encoder_kv_ != nullptr ? encoder_kv_->length() : 0,
             model_->encode_rows(audio_s));
  }
  for (const std::int64_t context : shape.contexts) add_pass(PassKind::kStep, 0, context, 1);
  add_pass(PassKind::kPrompt, 0, 0, model_->needs({}, kClipS).prompt_rows);
}

// What it needs is asked of the pass itself.
void ModelBench::add_pass(PassKind kind, double audio_s, std::int64_t context, std::int64_t rows) {
  ModelPass& pass = passes_.emplace_back();
  pass.kind = kind;
  pass.audio_s = audio_s;
  pass.context = context;
  pass.rows = rows;
  counting_->clear();
  if (kind == PassKind::kEncode) {
    encode(pass, *counting_);
  } else {
    decode(pass, *counting_);
  }
  pass.work = counting_->total();
  pass.work_by_op = counting_->table();
}

Peaks ModelBench::peaks() {
  Peaks found;
  found.read_bytes_per_s = read_bytes_per_s(*roofline_, *pool_, {read_.data(), kReadBytes});
  found.multiply_adds_per_s = multiply_adds_per_s(*roofline_, *pool_);
  return found;
}

double ModelBench::run(const ModelPass& pass) {
  const Clock::time_point start = Clock::now();
  if (pass.kind == PassKind::kEncode) {
    encode(pass, *device_);
  } else {
    decode(pass, *device_);
  }
  return seconds_since(start);
}

std::vector<OpTime> ModelBench::times() const {
  return timed_ != nullptr ? timed_->times() : std::vector<OpTime>{};
}

void ModelBench::encode(const ModelPass& pass, Device& device) {
  EncodeInput input;
  input.rows = host_rows(
      std::span(audio_).first(static_cast<std::size_t>(pass.rows * model_->encode_cols())),
      pass.rows);
  input.audio_s = pass.audio_s;
  input.conv = conv_.empty() ? nullptr : conv_[0].get();
  input.kv = encoder_kv_.get();
  if (encoder_kv_ != nullptr) {
    const std::int64_t frames = model_->encoder_positions(pass.rows) - model_->encoder_positions(0);
    input.position = pass.context * (pass.rows / frames);
  }
  EncodeBatch batch(pass.audio_s);
  const int ticket = batch.add(input);
  const ArenaScope scratch(device.arena());
  model_->encode(device, batch, Trace());
  check(batch.audio(ticket).rows > 0, "an encoder pass makes rows");
  if (speech_.empty()) speech_ = ordinary(batch.audio(ticket).cols);
  if (encoder_kv_ != nullptr) encoder_kv_->truncate(pass.context);
}

KvSequence& ModelBench::cache_of(const ModelPass& pass) {
  for (const auto& kv : kv_)
    if (kv->length() == pass.context) return *kv;
  fail(Code::kInternal, "no cache of %lld positions", static_cast<long long>(pass.context));
}

// Every row is a token with audio added, where the model has such rows.
void ModelBench::decode(const ModelPass& pass, Device& device) {
  KvSequence& kv = cache_of(pass);
  RowInput row;
  row.token = model_->info().vocab_size - 1;
  row.audio = host_rows(speech_, 1);
  rows_.assign(static_cast<std::size_t>(pass.rows), row);
  DecodeBatch batch(static_cast<std::int32_t>(pass.rows));
  batch.add(kv, rows_, pass.context, Want::kToken, condition_);
  const Stage stage{&device, 0, model_->info().kv.layers};
  model_->decode(std::span(&stage, 1), batch, Trace());
  kv.truncate(pass.context);
}

}  // namespace verbatim
