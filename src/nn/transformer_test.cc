// One pass, chunks, single steps and company: the same bytes.
#include "nn/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "nn/small_decoder.h"

namespace verbatim {
namespace {

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
  Decoder other(biased, cpu_with(1),
                {.config = config});  // finish() would refuse a bias that nobody took
  const std::vector<float> rows = rows_of(3, 5);
  EXPECT_NE(plain.in_chunks(rows, {3}), other.in_chunks(rows, {3}));
  EXPECT_THROW(Decoder(biased, 1), Error);                              // surplus
  EXPECT_THROW(Decoder(bare, cpu_with(1), {.config = config}), Error);  // missing
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
  Decoder same(file, cpu_with(1), {.conditioning = condition(2.0F)});
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
