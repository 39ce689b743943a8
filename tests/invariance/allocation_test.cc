// A warm encode and a warm decode ask for no memory, and for the arena that a dry run foretold.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device/counted_allocations.h"
#include "device/dry_device.h"
#include "kv/codecs.h"
#include "models/model.h"
#include "tests/invariance/nano.h"
#include "weights/test_values.h"

namespace verbatim {
namespace {

class AllocationTest : public testing::TestWithParam<Nano> {
 protected:
  AllocationTest() : checkpoint_(Checkpoint::open(std::string(GetParam().folder))) {
    DeviceOptions options;
    options.threads = 2;
    options.pin_threads = false;
    options.head_filter = HeadFilterUse::kAlways;
    device_ = open_device("cpu", options);
    device_->set_arena(Arena(device_->allocate(std::size_t{64} << 20)));
    const Stage load{device_.get(), 0, 1 << 20};
    model_ = recognise_family(checkpoint_).load(checkpoint_, std::span(&load, 1), {});
    stages_ = {{device_.get(), 0, model_->info().kv.layers}};
  }
  // Of the decoder, or of an encoder with attention.
  std::unique_ptr<KvPool> pool(const KvLayout& layout) {
    const int codec = kv_codec("f16");
    return std::make_unique<KvPool>(layout, codec, 24,
                                    device_->allocate(KvPool::storage_bytes(layout, codec, 24)));
  }
  // So many input rows of an encoder, in host memory.
  Tensor input(std::int64_t rows) {
    values_ = TestValues(2).uniforms(rows * model_->encode_cols(), 0.1F);
    return host_rows(values_, rows);
  }

  Checkpoint checkpoint_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Model> model_;
  std::vector<Stage> stages_;
  std::vector<float> values_;
};

TEST_P(AllocationTest, AWarmDecodeAsksForNoMemory) {
  const std::unique_ptr<KvPool> pages = pool(model_->info().kv);
  std::vector<std::unique_ptr<KvSequence>> sequences;
  DecodeBatch batch(512);
  const std::vector<RowInput> prompt(60, RowInput{1, {}});
  for (int i = 0; i < 3; ++i) {
    sequences.push_back(std::make_unique<KvSequence>(*pages));
    ASSERT_TRUE(sequences.back()->reserve(200));
    batch.add(*sequences.back(), prompt, 0, Want::kLogits);
  }
  model_->decode(stages_, batch, {});
  std::vector<std::int32_t> next{3, 4, 5};
  std::vector<RowInput> rows(1);
  const auto step = [&] {
    batch.clear(512);
    for (std::size_t i = 0; i < 3; ++i) {
      rows[0].token = next[i];
      const Want want = i == 2 ? Want::kLogits : Want::kToken;
      batch.add(*sequences[i], rows, sequences[i]->length(), want, 0, "step");
    }
    model_->decode(stages_, batch, {});
    for (std::size_t i = 0; i < 2; ++i) next[i] = batch.token(static_cast<int>(i));
  };
  step();
  const std::int64_t before = counted_allocations();
  for (int i = 0; i < 30; ++i) step();
  EXPECT_EQ(counted_allocations(), before);
  EXPECT_EQ(sequences[0]->length(), 91);
  EXPECT_EQ(batch.logits(2).size(), static_cast<std::size_t>(model_->info().vocab_size));
}

TEST_P(AllocationTest, AWarmEncodeAsksForNoMemory) {
  const std::unique_ptr<KvPool> pages = pool(model_->info().encoder_kv);
  KvSequence first(*pages), second(*pages);
  ASSERT_TRUE(first.reserve(500) && second.reserve(500));
  const std::int64_t rows = model_->encode_rows(1);
  const Tensor values = input(rows);
  const auto states = model_->conv_states(*device_);
  EncodeBatch batch(2);
  std::int64_t position = 0;
  const auto block = [&] {
    const ArenaScope scratch(device_->arena());
    batch.clear(2);
    batch.add({.rows = values,
               .audio_s = 1,
               .position = position,
               .conv = states[0].get(),
               .kv = &first});
    batch.add({.rows = values, .audio_s = 1, .last = true, .kv = &second});
    model_->encode(*device_, batch, {});
    position += rows;
  };
  block();
  const std::int64_t before = counted_allocations();
  for (int i = 0; i < 3; ++i) block();
  EXPECT_EQ(counted_allocations(), before);
  EXPECT_GT(batch.audio(0).rows, 0);
}

// Two clips of so many rows encoded at once and two prompts decoded at once; the arena it took.
std::size_t arena_used(Device& device, const Model& model, KvPool& pool, KvPool& encoder_pool,
                       const Tensor& values) {
  const Stage stage{&device, 0, model.info().kv.layers};
  const auto states = model.conv_states(device);
  KvSequence encoders[] = {KvSequence(encoder_pool), KvSequence(encoder_pool)};
  check(encoders[0].reserve(500) && encoders[1].reserve(500), "the pool has room");
  {
    const ArenaScope scratch(device.arena());
    EncodeBatch batch(10);
    batch.add(
        {.rows = values, .audio_s = 1, .last = true, .conv = states[0].get(), .kv = &encoders[0]});
    batch.add({.rows = values, .audio_s = 1, .last = true, .kv = &encoders[1]});
    model.encode(device, batch, {});
  }
  KvSequence first(pool);
  KvSequence second(pool);
  check(first.reserve(200) && second.reserve(200), "the pool has room");
  DecodeBatch batch(512);
  const std::vector<RowInput> prompt(150, RowInput{1, {}});
  batch.add(first, prompt, 0, Want::kLogits);
  batch.add(second, std::span(prompt).first(3), 0, Want::kToken);
  model.decode(std::span(&stage, 1), batch, {});
  return device.arena().high_water();
}

TEST_P(AllocationTest, ADryRunAsksForExactlyTheArenaThatIsUsed) {
  const std::unique_ptr<KvPool> pages = pool(model_->info().kv);
  const std::unique_ptr<KvPool> encoder_pages = pool(model_->info().encoder_kv);
  const std::int64_t frame = model_->encode_rows(0);
  for (const std::int64_t rows : {frame, 8 * frame, 17 * frame}) {
    const Tensor values = input(rows);
    DryDevice dry(*device_);
    const Stage load{&dry, 0, 1 << 20};
    const auto model = recognise_family(checkpoint_).load(checkpoint_, std::span(&load, 1), {});
    KvPool dry_pages(model->info().kv, 1, 24, reserve_addresses(std::size_t{1} << 40));
    KvPool dry_encoder_pages(model->info().encoder_kv, 1, 24,
                             reserve_addresses(std::size_t{1} << 40));
    const std::size_t asked = arena_used(dry, *model, dry_pages, dry_encoder_pages, values);
    device_->set_arena(Arena(device_->allocate(asked)));
    EXPECT_EQ(arena_used(*device_, *model_, *pages, *encoder_pages, values), asked) << rows;
  }
}

INSTANTIATE_TEST_SUITE_P(Nano, AllocationTest, testing::Values(kVibeVoiceNano, kVoxtralNano));

TEST(Allocations, TheCounterCounts) {
  const std::int64_t before = counted_allocations();
  const std::vector<float> thing(3);
  EXPECT_EQ(counted_allocations(), before + 1);
}

}  // namespace
}  // namespace verbatim
