// Attention over every codec and every table: its definition to the bit, its distance from double,
// and what must not matter: company, cuts, and what lies in the hidden part of a page.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/math.h"
#include "cpu/isa/scalar/lanes.h"
#include "cpu/kernels/kernel_test.h"
#include "cpu/kernels/math.h"
#include "kv/codecs.h"
#include "tensor/tensor.h"

namespace verbatim {
namespace {

using Lanes = scalar::Lanes;
constexpr std::int64_t kPage = kPagePositions;

struct CodecOps {
  const char* name;
  std::int64_t (*key_bytes)(std::int32_t head_dim);
  std::int64_t (*value_bytes)(std::int32_t head_dim);
  void (*store_key)(const float*, std::byte*, std::int32_t slot, std::int32_t head_dim);
  void (*store_value)(const float*, std::byte*, std::int32_t slot, std::int32_t head_dim);
  Lanes (*load_keys)(const std::byte*, std::int32_t feature, std::int32_t slot);
  Lanes (*load_values)(const std::byte*, std::int32_t slot, std::int32_t feature,
                       std::int32_t head_dim);
};
template <typename... C>
std::vector<CodecOps> list_codecs(CodecList<C...>) {
  return {{C::kName, C::key_bytes, C::value_bytes, C::store_key, C::store_value,
           C::template load_keys<Lanes>, C::template load_values<Lanes>}...};
}
std::vector<CodecOps> codecs() {
  return list_codecs(KvCodecs{});
}

struct Shape {
  std::int32_t group = 1;
  std::int32_t head_dim = 64;
  std::int64_t position = 0;
  std::int32_t rows = 1;
  std::int64_t window = 0;
  float q_scale = 3.0F;

  std::int64_t end() const { return position + rows; }
  std::int64_t first_seen(std::int64_t row) const {
    return window == 0 ? 0 : std::max<std::int64_t>(0, position + row - window + 1);
  }
  std::int64_t stride() const { return std::int64_t{group} * head_dim + 5; }
};

// One KV head of one sequence. Bytes that were never stored, padding included, are `filler`.
struct Cache {
  Cache(const CodecOps& codec, const Shape& shape, std::uint8_t filler) : ops(codec) {
    TestValues numbers(static_cast<std::uint32_t>(shape.head_dim));
    const std::int32_t dim = shape.head_dim;
    const auto bytes = static_cast<std::size_t>(ops.key_bytes(dim) + ops.value_bytes(dim));
    for (std::int64_t p = 0; p < shape.end(); ++p) {
      if (p % kPage == 0) {
        memory.push_back(allocate_host(bytes));
        std::memset(memory.back().data(), filler, bytes);
        pages.push_back(memory.back().data());
      }
      const auto slot = static_cast<std::int32_t>(p % kPage);
      ops.store_key(numbers.uniforms(dim).data(), memory.back().data(), slot, dim);
      ops.store_value(numbers.uniforms(dim).data(), memory.back().data() + ops.key_bytes(dim), slot,
                      dim);
    }
  }
  float key(std::int64_t position, std::int32_t feature) const {
    const auto slot = static_cast<std::int32_t>(position % kPage);
    const auto page = static_cast<std::size_t>(position / kPage);
    return ops.load_keys(pages[page], feature, slot / 16 * 16).v[slot % 16];
  }
  float value(std::int64_t position, std::int32_t feature, std::int32_t dim) const {
    const auto slot = static_cast<std::int32_t>(position % kPage);
    const std::byte* values =
        pages[static_cast<std::size_t>(position / kPage)] + ops.key_bytes(dim);
    return ops.load_values(values, slot, feature / 16 * 16, dim).v[feature % 16];
  }
  CodecOps ops;
  std::vector<Buffer> memory;
  std::vector<const std::byte*> pages;
};

std::vector<float> queries(const Shape& shape) {
  TestValues numbers(99);
  return numbers.uniforms(shape.rows * shape.stride(), shape.q_scale);
}
float scale_of(const Shape& shape) {
  return 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
}

// Part of a shape: rows and heads that share a call.
struct Part {
  std::int32_t row = 0;
  std::int32_t rows = 1;
  std::int32_t head = 0;
  std::int32_t heads = 1;
};

// Computes the part into `out`, which is laid out as the whole.
void attend(const KernelTable& table, int codec, const Shape& shape, const Cache& cache,
            const std::vector<float>& q, const Part& part, std::vector<float>& out) {
  const std::int64_t first_page = shape.first_seen(part.row) / kPage;
  const std::int64_t walked = shape.position + part.row + part.rows - shape.first_seen(part.row);
  const std::size_t bytes = table.attention_scratch_bytes(part.heads, shape.head_dim, walked);
  const Buffer scratch = allocate_host(bytes + 64);
  std::memset(scratch.data(), 0xff, bytes + 64);
  const std::int64_t offset = part.row * shape.stride() + std::int64_t{part.head} * shape.head_dim;
  AttentionCall call;
  call.q = q.data() + offset;
  call.q_stride = shape.stride();
  call.out = out.data() + offset;
  call.out_stride = shape.stride();
  call.rows = part.rows;
  call.group = part.heads;
  call.head_dim = shape.head_dim;
  call.position = shape.position + part.row;
  call.window = shape.window;
  call.pages = cache.pages.data() + first_page;
  call.first_page = first_page;
  call.scale = scale_of(shape);
  call.scratch = scratch.data();
  table.attention[static_cast<std::size_t>(codec)].run(call);
  for (std::size_t i = bytes; i < bytes + 64; ++i) {
    ASSERT_EQ(scratch.data()[i], std::byte{0xff}) << table.isa << " wrote past its scratch";
  }
}

std::vector<float> attend_whole(const KernelTable& table, int codec, const Shape& shape,
                                const Cache& cache, std::int32_t rows_at_once) {
  const std::vector<float> q = queries(shape);
  std::vector<float> out(q.size(), 7.0F);
  for (std::int32_t row = 0; row < shape.rows; row += rows_at_once) {
    const Part part{row, std::min(rows_at_once, shape.rows - row), 0, shape.group};
    attend(table, codec, shape, cache, q, part, out);
  }
  return out;
}

// The weights of one query before they are divided by their sum, for all that it sees.
std::vector<float> weights_of(const Shape& shape, const Cache& cache, const float* q,
                              std::int64_t begin, std::int64_t end) {
  std::vector<float> scores(static_cast<std::size_t>((end - begin + 15) / 16 * 16), -HUGE_VALF);
  float largest = -HUGE_VALF;
  for (std::int64_t p = begin; p < end; ++p) {
    float score = 0;
    for (std::int32_t f = 0; f < shape.head_dim; ++f)
      score = std::fma(q[f], cache.key(p, f), score);
    score *= scale_of(shape);
    scores[static_cast<std::size_t>(p - begin)] = score;
    largest = std::max(largest, score);
  }
  for (std::size_t i = 0; i < scores.size(); i += 16) {
    const Lanes below = Lanes::sub(Lanes::load(scores.data() + i), Lanes::set(largest));
    Lanes::store(scores.data() + i, exp<Lanes>(below, -64.0F));
  }
  return scores;
}

std::vector<float> definition(const Shape& shape, const Cache& cache) {
  const std::vector<float> q = queries(shape);
  std::vector<float> out(q.size(), 7.0F);
  for (std::int64_t query = 0; query < std::int64_t{shape.rows} * shape.group; ++query) {
    const std::int64_t row = query / shape.group;
    const std::int64_t at = row * shape.stride() + query % shape.group * shape.head_dim;
    const std::int64_t begin = shape.first_seen(row);
    const std::int64_t end = shape.position + row + 1;
    const std::vector<float> weights = weights_of(shape, cache, q.data() + at, begin, end);
    float running[16] = {};
    for (std::int64_t p = begin; p < end; ++p) {
      running[p % 16] += weights[static_cast<std::size_t>(p - begin)];
    }
    const float sum = Lanes::sum(Lanes::load(running));
    for (std::int32_t f = 0; f < shape.head_dim; ++f) {
      float context = 0;
      for (std::int64_t p = begin; p < end; ++p) {
        context = std::fma(weights[static_cast<std::size_t>(p - begin)],
                           cache.value(p, f, shape.head_dim), context);
      }
      out[static_cast<std::size_t>(at + f)] = context / sum;
    }
  }
  return out;
}

std::string name_of(const KernelTable& table, const CodecOps& codec, const Shape& shape) {
  return std::string(table.isa) + " " + codec.name + " group " + std::to_string(shape.group) +
         " head_dim " + std::to_string(shape.head_dim) + " position " +
         std::to_string(shape.position) + " rows " + std::to_string(shape.rows) + " window " +
         std::to_string(shape.window);
}

void expect_definition(const Shape& shape) {
  for (int codec = 0; codec < static_cast<int>(codecs().size()); ++codec) {
    const CodecOps ops = codecs()[static_cast<std::size_t>(codec)];
    const Cache cache(ops, shape, 0xff);
    const std::vector<float> expected = definition(shape, cache);
    for (const KernelTable* table : tables_here()) {
      const std::int32_t rows = table->attention_rows;
      EXPECT_TRUE(same_bits(attend_whole(*table, codec, shape, cache, rows), expected))
          << name_of(*table, ops, shape);
    }
  }
}

TEST(Attention, EveryTableGivesTheBitsOfItsDefinition) {
  for (const std::int32_t group : {1, 2, 3, 4, 6, 7, 16}) {
    expect_definition({group, 32, 0, 9});
    expect_definition({group, 20, 130, 5});
  }
  for (const std::int32_t head_dim : {1, 2, 8, 15, 16, 17, 33, 48, 80, 96, 128, 250}) {
    expect_definition({2, head_dim, 60, 8});
  }
  for (const std::int64_t position : {0, 1, 15, 16, 62, 63, 64, 65, 127, 500}) {
    expect_definition({7, 16, position, 3});
  }
}

TEST(Attention, EveryTableGivesTheBitsOfItsDefinitionUnderAWindow) {
  for (const std::int64_t window : {1, 2, 5, 16, 63, 64, 65, 100}) {
    for (const std::int64_t position : {0, 3, 60, 130, 1000}) {
      expect_definition({4, 12, position, 10, window});
    }
  }
}

TEST(Attention, AnHoursContextKeepsTheDefinition) {
  expect_definition({1, 4, 27100, 1});
}

TEST(Attention, IsCloseToDouble) {
  const Shape shape{2, 64, 700, 2};
  const Cache cache(codecs()[0], shape, 0);
  const std::vector<float> q = queries(shape);
  const std::vector<float> out = attend_whole(*tables_here().front(), 0, shape, cache, 2);
  for (std::int64_t query = 0; query < 4; ++query) {
    const std::int64_t at = query / 2 * shape.stride() + query % 2 * shape.head_dim;
    const std::int64_t end = shape.position + query / 2 + 1;
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t p = 0; p < end; ++p) {
      double score = 0;
      for (std::int32_t f = 0; f < shape.head_dim; ++f) {
        score += static_cast<double>(q[static_cast<std::size_t>(at + f)]) *
                 static_cast<double>(cache.key(p, f));
      }
      weights.push_back(math_exp(score * static_cast<double>(scale_of(shape))));
      sum += weights.back();
    }
    for (std::int32_t f = 0; f < shape.head_dim; ++f) {
      double exact = 0;
      for (std::int64_t p = 0; p < end; ++p) {
        exact += weights[static_cast<std::size_t>(p)] *
                 static_cast<double>(cache.value(p, f, shape.head_dim));
      }
      EXPECT_NEAR(static_cast<double>(out[static_cast<std::size_t>(at + f)]), exact / sum, 1e-6);
    }
  }
}

TEST(Attention, ARowsCompanyDoesNotChangeItsBits) {
  for (const Shape& shape :
       {Shape{7, 24, 58, 16}, Shape{3, 40, 100, 11, 70}, Shape{1, 16, 0, 20}}) {
    for (int codec = 0; codec < static_cast<int>(codecs().size()); ++codec) {
      const CodecOps ops = codecs()[static_cast<std::size_t>(codec)];
      const Cache cache(ops, shape, 0xff);
      for (const KernelTable* table : tables_here()) {
        const std::vector<float> alone = attend_whole(*table, codec, shape, cache, 1);
        for (const std::int32_t rows : {2, 3, 5, 8}) {
          EXPECT_TRUE(same_bits(attend_whole(*table, codec, shape, cache, rows), alone))
              << name_of(*table, ops, shape) << ", " << rows << " at once";
        }
      }
    }
  }
}

TEST(Attention, AHeadsGroupDoesNotChangeItsBits) {
  const Shape shape{7, 36, 90, 4};
  const Cache cache(codecs()[0], shape, 0xff);
  const std::vector<float> q = queries(shape);
  for (const KernelTable* table : tables_here()) {
    const std::vector<float> together = attend_whole(*table, 0, shape, cache, 4);
    std::vector<float> apart(q.size(), 7.0F);
    for (std::int32_t head = 0; head < shape.group; ++head) {
      attend(*table, 0, shape, cache, q, {0, shape.rows, head, 1}, apart);
    }
    EXPECT_TRUE(same_bits(apart, together)) << table->isa;
  }
}

TEST(Attention, WhatARowMayNotSeeDoesNotTouchIt) {
  for (const Shape& shape : {Shape{2, 20, 37, 8}, Shape{5, 16, 200, 8, 33}}) {
    for (int codec = 0; codec < static_cast<int>(codecs().size()); ++codec) {
      const CodecOps ops = codecs()[static_cast<std::size_t>(codec)];
      // 0xff bytes are NaN in both codecs; 0x7b ones are huge; the later rows hide from the
      // earlier.
      const Cache nan(ops, shape, 0xff);
      const Cache huge(ops, shape, 0x7b);
      const Cache zero(ops, shape, 0);
      for (const KernelTable* table : tables_here()) {
        const std::vector<float> out = attend_whole(*table, codec, shape, zero, 8);
        EXPECT_TRUE(same_bits(attend_whole(*table, codec, shape, nan, 8), out));
        EXPECT_TRUE(same_bits(attend_whole(*table, codec, shape, huge, 8), out));
        for (const float value : out) EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

// Not even with a weight of zero: zero times infinity would show.
TEST(Attention, AValueThatOnlyANeighbourSeesDoesNotTouchARow) {
  const Shape shape{3, 16, 100, 8, 40};
  const CodecOps ops = codecs()[0];
  const Cache clean(ops, shape, 0);
  Cache poisoned(ops, shape, 0);
  const std::vector<float> infinite(16, HUGE_VALF);
  const std::int64_t first = shape.first_seen(0);  // row 0 alone sees it
  const std::int64_t last = shape.end() - 1;       // the last row alone sees it
  for (const std::int64_t p : {first, last}) {
    std::byte* values = poisoned.memory[static_cast<std::size_t>(p / kPage)].data();
    ops.store_value(infinite.data(), values + ops.key_bytes(16),
                    static_cast<std::int32_t>(p % kPage), 16);
  }
  for (const KernelTable* table : tables_here()) {
    const std::vector<float> expected = attend_whole(*table, 0, shape, clean, 8);
    const std::vector<float> found = attend_whole(*table, 0, shape, poisoned, 8);
    const auto stride = static_cast<std::size_t>(shape.stride());
    EXPECT_FALSE(std::isfinite(found[0])) << table->isa;
    EXPECT_FALSE(std::isfinite(found[7 * stride])) << table->isa;
    EXPECT_TRUE(same_bits(std::span(found).subspan(stride, 6 * stride),
                          std::span(expected).subspan(stride, 6 * stride)))
        << table->isa;
  }
}

// One row whose scores are chosen: every key is e_0 times its score, and the query is e_0.
struct ChosenScores {
  static constexpr std::int32_t kDim = 16;
  ChosenScores() : cache(codecs()[0], shape, 0), q(kDim, 0.0F) { q[0] = 1.0F; }
  void set(std::int64_t position, float score, float value) {
    std::vector<float> key(kDim, 0.0F);
    key[0] = score / scale_of(shape);
    const std::vector<float> values(kDim, value);
    std::byte* page = cache.memory[static_cast<std::size_t>(position / kPage)].data();
    const auto slot = static_cast<std::int32_t>(position % kPage);
    cache.ops.store_key(key.data(), page, slot, kDim);
    cache.ops.store_value(values.data(), page + cache.ops.key_bytes(kDim), slot, kDim);
  }
  float context(const KernelTable& table) const {
    std::vector<float> out(kDim);
    attend(table, 0, shape, cache, q, {}, out);
    return out[5];
  }
  Shape shape{1, kDim, 149, 1};
  Cache cache;
  std::vector<float> q;
};

TEST(Attention, AScoreFarAboveTheOthersTakesAll) {
  ChosenScores chosen;
  for (std::int64_t p = 0; p < 150; ++p) chosen.set(p, -1000.0F, 3.0F);
  chosen.set(77, 1000.0F, 0.7F);
  for (const KernelTable* table : tables_here())
    EXPECT_EQ(chosen.context(*table), 0.7F) << table->isa;
}

TEST(Attention, AWeightCountsDownToTheFloor) {
  for (const float score : {-60.0F, -63.0F, -65.0F, -80.0F}) {
    ChosenScores chosen;
    for (std::int64_t p = 0; p < 150; ++p) chosen.set(p, -1000.0F, 1.0F);
    chosen.set(20, 0.0F, 0.0F);
    chosen.set(100, score, 1e30F);
    const double weight = score < -64.0F ? 0.0 : math_exp(static_cast<double>(score));
    for (const KernelTable* table : tables_here()) {
      EXPECT_NEAR(static_cast<double>(chosen.context(*table)), weight * 1e30, weight * 1e24)
          << table->isa << " score " << score;
    }
  }
}

TEST(Attention, EqualScoresGiveTheMean) {
  ChosenScores chosen;
  for (std::int64_t p = 0; p < 150; ++p) chosen.set(p, 5.0F, p % 2 == 0 ? 1.0F : 2.0F);
  for (const KernelTable* table : tables_here())
    EXPECT_EQ(chosen.context(*table), 1.5F) << table->isa;
}

TEST(Attention, BitsAreTheRecordedOnes) {
  const Shape shape{7, 72, 140, 13, 150};
  const std::uint64_t expected[] = {0x5919508efa35c584U, 0xdf939dec84ce5e2cU};
  for (int codec = 0; codec < static_cast<int>(codecs().size()); ++codec) {
    const CodecOps ops = codecs()[static_cast<std::size_t>(codec)];
    const Cache cache(ops, shape, 0xff);
    for (const KernelTable* table : tables_here()) {
      EXPECT_EQ(digest(attend_whole(*table, codec, shape, cache, 8)), expected[codec])
          << name_of(*table, ops, shape);
    }
  }
}

}  // namespace
}  // namespace verbatim
