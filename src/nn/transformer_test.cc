// One pass, chunks, single steps and company: the same bytes.
#include "nn/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "device/small_run.h"
#include "nn/test_checkpoint.h"

namespace verbatim {
namespace {

constexpr std::int32_t kHidden = 48;

TransformerConfig config_with(std::int64_t window) {
  return {.num_hidden_layers = 2,
          .hidden_size = kHidden,
          .intermediate_size = 80,
          .num_attention_heads = 6,
          .num_key_value_heads = 2,
          .head_dim = 12,
          .sliding_window = window,
          .rms_norm_eps = 1e-6F,
          .q_bias = true,
          .k_bias = true,
          .v_bias = true};
}

TestCheckpoint& with_layers(TestCheckpoint& file, RawType type) {
  for (int i = 0; i < 2; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const auto projection = [&](const std::string& name, std::int64_t out, std::int64_t in) {
      file.add(layer + name + ".weight", {out, in}, type, 0.3F);
    };
    file.add(layer + "input_layernorm.weight", {kHidden}, RawType::kF32, 0.3F, 1.0F);
    projection("self_attn.q_proj", 72, kHidden);
    projection("self_attn.k_proj", 24, kHidden);
    projection("self_attn.v_proj", 24, kHidden);
    projection("self_attn.o_proj", kHidden, 72);
    file.add(layer + "self_attn.q_proj.bias", {72});
    file.add(layer + "self_attn.k_proj.bias", {24});
    file.add(layer + "self_attn.v_proj.bias", {24});
    file.add(layer + "post_attention_layernorm.weight", {kHidden}, RawType::kF32, 0.3F, 1.0F);
    projection("mlp.gate_proj", 80, kHidden);
    projection("mlp.up_proj", 80, kHidden);
    projection("mlp.down_proj", kHidden, 80);
  }
  return file;
}

class Decoder {
 public:
  Decoder(const TestCheckpoint& file, int threads, std::int64_t window = 0,
          const char* codec = "f16")
      : Decoder(file, threads, config_with(window), codec) {}
  Decoder(const TestCheckpoint& file, int threads, const TransformerConfig& config,
          const char* codec, const TransformerNames& names = {},
          const Conditioning& conditioning = {})
      : device_(cpu_with(threads)),
        config_(config),
        pool_({.layers = 2, .kv_heads = 2, .head_dim = 12}, kv_codec(codec), 12,
              allocate_host(KvPool::storage_bytes({2, 2, 12}, kv_codec(codec), 12))) {
    const Checkpoint checkpoint = file.open();
    const Binder binder(checkpoint, *device_, store_);
    layers_ = std::make_unique<Transformer>("dec", config_, binder.at("model"),
                                            make_rope_table(config_.head_dim, 10000), names,
                                            conditioning);
    binder.finish();
    stages_ = {{device_.get(), 0, 2}};
  }
  void set_stages(std::vector<Stage> stages) { stages_ = std::move(stages); }
  void set_condition(std::int32_t condition) { condition_ = condition; }
  Device& device() { return *device_; }
  std::unique_ptr<KvSequence> sequence() { return std::make_unique<KvSequence>(pool_); }

  struct Part {
    const std::vector<float>* rows = nullptr;  // of the whole sequence
    std::int64_t count = 0;                    // that come now
    KvSequence* kv = nullptr;
  };
  std::vector<std::vector<float>> run(const std::vector<Part>& parts, Tap* tap = nullptr) {
    const ArenaScope scratch(device_->arena());
    std::vector<Span> batch;
    std::vector<float> all;
    std::int32_t first = 0;
    for (const Part& part : parts) {
      check(part.kv->reserve(part.kv->length() + part.count), "the pool has room");
      batch.push_back({.first_row = first,
                       .rows = static_cast<std::int32_t>(part.count),
                       .position = part.kv->length(),
                       .condition = condition_,
                       .kv = part.kv});
      const auto from = part.rows->begin() + part.kv->length() * kHidden;
      all.insert(all.end(), from, from + part.count * kHidden);
      first += static_cast<std::int32_t>(part.count);
    }
    const Tensor x = device_->arena().take(first, kHidden, DType::kF32);
    device_->upload(x, std::as_bytes(std::span(all)));
    const Tensor y = layers_->forward(stages_, x, batch, Trace(tap));
    std::vector<std::vector<float>> made;
    for (const Span& span : batch) {
      made.emplace_back(static_cast<std::size_t>(span.rows * kHidden));
      device_->download(std::as_writable_bytes(std::span(made.back())),
                        y.slice(span.first_row, span.rows));
      span.kv->advance(span.rows);
    }
    return made;
  }
  std::vector<float> in_chunks(const std::vector<float>& rows,
                               const std::vector<std::int64_t>& chunks) {
    const std::unique_ptr<KvSequence> kv = sequence();
    std::vector<float> made;
    const auto count = static_cast<std::int64_t>(rows.size()) / kHidden;
    for (std::size_t i = 0; kv->length() < count; ++i) {
      const std::int64_t chunk = std::min(chunks[i % chunks.size()], count - kv->length());
      const std::vector<float> part = run({{&rows, chunk, kv.get()}})[0];
      made.insert(made.end(), part.begin(), part.end());
    }
    return made;
  }

 private:
  std::unique_ptr<Device> device_;
  TransformerConfig config_;
  KvPool pool_;
  WeightStore store_;
  std::unique_ptr<Transformer> layers_;
  std::vector<Stage> stages_;
  std::int32_t condition_ = 0;
};

std::vector<float> rows_of(std::int64_t count, std::uint32_t seed) {
  return TestValues(seed).uniforms(count * kHidden, 2.0F);
}

TEST(Transformer, ChunksAndSingleStepsAreOnePassByteForByte) {
  for (const RawType type : {RawType::kF32, RawType::kBF16}) {
    TestCheckpoint file;
    with_layers(file, type);
    for (const std::int64_t window : {0, 50}) {
      for (const char* codec : KvCodecs::kNames) {
        Decoder decoder(file, 1, window, codec);
        const std::vector<float> rows = rows_of(160, 1);
        const std::vector<float> whole = decoder.in_chunks(rows, {160});
        EXPECT_EQ(decoder.in_chunks(rows, {1}), whole);
        EXPECT_EQ(decoder.in_chunks(rows, {29}), whole);
        EXPECT_EQ(decoder.in_chunks(rows, {100, 1, 1, 1, 30}), whole);
      }
    }
  }
}

TEST(Transformer, SequencesOfABatchAreEachAloneByteForByte) {
  TestCheckpoint file;
  with_layers(file, RawType::kF16);
  const std::int64_t before[] = {0, 100, 63, 5};
  const std::int64_t now[] = {70, 1, 1, 29};
  std::vector<std::vector<float>> expected;
  for (const int threads : {1, 3}) {
    Decoder decoder(file, threads);
    std::vector<std::vector<float>> rows;
    for (std::uint32_t i = 0; i < 4; ++i) rows.push_back(rows_of(110, 10 + i));
    std::vector<std::unique_ptr<KvSequence>> kept;
    std::vector<std::vector<float>> alone;
    std::vector<Decoder::Part> together;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto begun = [&] {
        std::unique_ptr<KvSequence> kv = decoder.sequence();
        if (before[i] > 0) decoder.run({{&rows[i], before[i], kv.get()}});
        return kv;
      };
      alone.push_back(decoder.run({{&rows[i], now[i], begun().get()}})[0]);
      kept.push_back(begun());
      together.push_back({&rows[i], now[i], kept.back().get()});
    }
    EXPECT_EQ(decoder.run(together), alone);
    if (expected.empty()) expected = alone;
    EXPECT_EQ(alone, expected) << threads << " threads";
  }
}

TEST(Transformer, StagesAreOnePassByteForByte) {
  TestCheckpoint file;
  with_layers(file, RawType::kF32);
  Decoder decoder(file, 1);
  const std::vector<float> rows = rows_of(40, 3);
  const std::vector<float> whole = decoder.in_chunks(rows, {40});
  decoder.set_stages({{&decoder.device(), 0, 1}, {&decoder.device(), 1, 2}});
  EXPECT_EQ(decoder.in_chunks(rows, {40}), whole);
}

class Names final : public Tap {
 public:
  bool wants(std::string_view) const override { return true; }
  void see(std::string_view name, const Tensor& rows, const Spans& spans) override {
    names.emplace_back(name);
    EXPECT_EQ(rows.rows, 7);
    EXPECT_EQ(spans.host.size(), 1U);
    EXPECT_EQ(spans.host[0].position, 20);
  }
  std::vector<std::string> names;
};

TEST(Transformer, ShowsEveryTensorUnderTheReferencesNameAndIsNotChangedByIt) {
  TestCheckpoint file;
  with_layers(file, RawType::kBF16);
  Decoder decoder(file, 1);
  const std::vector<float> rows = rows_of(27, 4);
  const std::unique_ptr<KvSequence> quiet = decoder.sequence();
  const std::unique_ptr<KvSequence> loud = decoder.sequence();
  decoder.run({{&rows, 20, quiet.get()}});
  decoder.run({{&rows, 20, loud.get()}});
  Names tap;
  EXPECT_EQ(decoder.run({{&rows, 7, loud.get()}}, &tap), decoder.run({{&rows, 7, quiet.get()}}));
  std::vector<std::string> expected;
  for (const std::string layer : {"dec.0.", "dec.1."}) {
    for (const char* name : {"norm1", "q", "k", "v", "q_rope", "k_rope", "ctx", "attn_out", "res1",
                             "norm2", "gate", "up", "act", "down", "out"}) {
      expected.push_back(layer + name);
    }
  }
  EXPECT_EQ(tap.names, expected);
}

TEST(Transformer, BiasesAreTakenWhereTheConfigSays) {
  TestCheckpoint biased;
  with_layers(biased, RawType::kF32);
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) {
    biased.add(std::string(layer) + "self_attn.o_proj.bias", {kHidden},
               std::vector<float>(kHidden, 0.5F));
    biased.add(std::string(layer) + "mlp.down_proj.bias", {kHidden},
               std::vector<float>(kHidden, 0.25F));
  }
  TestCheckpoint bare;
  with_layers(bare, RawType::kF32);
  TransformerConfig config = config_with(0);
  Decoder plain(bare, 1);
  config.o_bias = config.down_bias = true;
  Decoder other(biased, 1, config, "f16");  // finish() would refuse a bias that nobody took
  const std::vector<float> rows = rows_of(3, 5);
  EXPECT_NE(plain.in_chunks(rows, {3}), other.in_chunks(rows, {3}));
  EXPECT_THROW(Decoder(biased, 1), Error);               // surplus
  EXPECT_THROW(Decoder(bare, 1, config, "f16"), Error);  // missing
}

TEST(Transformer, AConditionScalesTheSecondNorm) {
  TestCheckpoint file;
  with_layers(file, RawType::kF32);
  const auto condition = [](float factor) {
    return [factor](const Binder&) {
      std::vector<float> factors(2 * kHidden, 1.0F);
      std::fill(factors.begin() + kHidden, factors.end(), factor);
      return factors;
    };
  };
  Decoder plain(file, 1);
  Decoder same(file, 1, config_with(0), "f16", {}, condition(2.0F));
  const std::vector<float> rows = rows_of(3, 5);
  EXPECT_EQ(plain.in_chunks(rows, {3}), same.in_chunks(rows, {3}));
  same.set_condition(1);
  EXPECT_NE(plain.in_chunks(rows, {3}), same.in_chunks(rows, {3}));
}

TEST(RopeTable, FrequenciesArePowersOfThetaInFloat32) {
  for (const double theta : {10000.0, 1e6, 1e8}) {
    for (const std::int32_t head_dim : {2, 12, 80, 128}) {
      const std::unique_ptr<RopeTable> table = make_rope_table(head_dim, theta);
      ASSERT_EQ(table->inv_freq.size(), static_cast<std::size_t>(head_dim / 2));
      EXPECT_EQ(table->inv_freq[0], 1.0F);
      for (std::int32_t i = 0; i < head_dim / 2; ++i) {
        const double exact = 1 / std::pow(theta, 2.0 * i / head_dim);
        // Three roundings, and that of the exponent grows with the power.
        EXPECT_NEAR(static_cast<double>(table->inv_freq[static_cast<std::size_t>(i)]) / exact, 1.0,
                    1.5e-6);
      }
    }
  }
}

}  // namespace
}  // namespace verbatim
