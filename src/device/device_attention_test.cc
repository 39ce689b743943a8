// Attention over cached pages: against its definition in double, and the same bytes however the
// rows come, whoever shares the batch, and whether pages behind the window are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "device/small_run.h"

namespace verbatim {
namespace {

struct Heads {
  std::int32_t heads = 1;
  std::int32_t kv_heads = 1;
  std::int32_t head_dim = 16;
  std::int64_t window = 0;
};
// Head dimensions that fill no lane, groups of one, three and six.
constexpr Heads kHeads[] = {{4, 2, 10, 0}, {6, 2, 24, 0}, {3, 3, 80, 0}, {6, 1, 36, 100}};
constexpr std::int32_t kLayers = 2;
constexpr std::int32_t kLayer = 1;

// The rows of one sequence.
struct Rows {
  Rows(const Heads& shape, std::int64_t count, std::uint32_t seed) : rows(count) {
    TestValues values(seed);
    q = values.uniforms(count * shape.heads * shape.head_dim, 3.0F);
    k = values.uniforms(count * shape.kv_heads * shape.head_dim);
    v = values.uniforms(count * shape.kv_heads * shape.head_dim);
  }
  std::int64_t rows = 0;
  std::vector<float> q, k, v;
};

class Sequences {
 public:
  Sequences(Device& device, const Heads& shape, const char* codec, std::int32_t pages)
      : dev_(device),
        shape_(shape),
        pool_(layout(shape), kv_codec(codec), pages,
              allocate_host(KvPool::storage_bytes(layout(shape), kv_codec(codec), pages))) {}
  static KvLayout layout(const Heads& shape) {
    return {.layers = kLayers, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim};
  }
  KvPool& pool() { return pool_; }
  std::unique_ptr<KvSequence> sequence() { return std::make_unique<KvSequence>(pool_); }

  struct Part {
    const Rows* rows = nullptr;
    std::int64_t count = 0;  // the next rows of the sequence
    KvSequence* kv = nullptr;
  };
  // What each part's rows see, and moves the sequences on.
  std::vector<std::vector<float>> run(const std::vector<Part>& parts) {
    const ArenaScope scratch(dev_.arena());
    std::vector<Span> spans;
    std::vector<float> q, k, v;
    std::int32_t first = 0;
    for (const Part& part : parts) {
      check(part.kv->reserve(part.kv->length() + part.count), "the pool has room");
      spans.push_back({.first_row = first,
                       .rows = static_cast<std::int32_t>(part.count),
                       .position = part.kv->length(),
                       .kv = part.kv});
      append(q, part.rows->q, part, shape_.heads * shape_.head_dim);
      append(k, part.rows->k, part, shape_.kv_heads * shape_.head_dim);
      append(v, part.rows->v, part, shape_.kv_heads * shape_.head_dim);
      first += static_cast<std::int32_t>(part.count);
    }
    const AttentionShape shape{.layer = kLayer,
                               .heads = shape_.heads,
                               .kv_heads = shape_.kv_heads,
                               .head_dim = shape_.head_dim,
                               .window = shape_.window};
    const Tensor out = dev_.attention(host_rows(q, first), host_rows(k, first), host_rows(v, first),
                                      dev_.spans(spans), shape);
    std::vector<std::vector<float>> made;
    for (const Span& span : spans) {
      made.emplace_back(static_cast<std::size_t>(span.rows * out.cols));
      dev_.download(std::as_writable_bytes(std::span(made.back())),
                    out.slice(span.first_row, span.rows));
      span.kv->advance(span.rows);
    }
    return made;
  }

  // All rows, so many at once; pages behind the window are given back when `drop` says so.
  std::vector<float> in_chunks(const Rows& rows, std::int64_t chunk, bool drop = false) {
    const std::unique_ptr<KvSequence> kv = sequence();
    std::vector<float> made;
    most_pages_ = 0;
    for (std::int64_t at = 0; at < rows.rows; at += chunk) {
      const std::vector<float> part = run({{&rows, std::min(chunk, rows.rows - at), kv.get()}})[0];
      made.insert(made.end(), part.begin(), part.end());
      most_pages_ = std::max(most_pages_, kv->pages().size());
      if (drop) kv->drop_before(kv->length() - shape_.window + 1);
    }
    return made;
  }
  std::size_t most_pages() const { return most_pages_; }

 private:
  static void append(std::vector<float>& to, const std::vector<float>& from, const Part& part,
                     std::int64_t width) {
    const auto begin = from.begin() + part.kv->length() * width;
    to.insert(to.end(), begin, begin + part.count * width);
  }
  Device& dev_;
  Heads shape_;
  KvPool pool_;
  std::size_t most_pages_ = 0;
};

// The definition in double, over keys and values as the codec keeps them.
void expect_definition(const Heads& shape, const char* codec, const Rows& rows,
                       const std::vector<float>& out) {
  const bool half = std::string(codec) == "f16";
  const std::vector<float> k = half ? rounded(kFormatF16, rows.k) : rows.k;
  const std::vector<float> v = half ? rounded(kFormatF16, rows.v) : rows.v;
  const std::int64_t dim = shape.head_dim;
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    const std::int64_t begin =
        shape.window == 0 ? 0 : std::max<std::int64_t>(0, r - shape.window + 1);
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const std::int64_t head = h / (shape.heads / shape.kv_heads);
      const auto query = static_cast<std::size_t>((r * shape.heads + h) * dim);
      std::vector<double> weights;
      double sum = 0;
      for (std::int64_t p = begin; p <= r; ++p) {
        double score = 0;
        for (std::int64_t f = 0; f < dim; ++f) {
          score += static_cast<double>(rows.q[query + static_cast<std::size_t>(f)]) *
                   static_cast<double>(
                       k[static_cast<std::size_t>((p * shape.kv_heads + head) * dim + f)]);
        }
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(dim))));
        sum += weights.back();
      }
      for (std::int64_t f = 0; f < dim; ++f) {
        double value = 0;
        for (std::int64_t p = begin; p <= r; ++p) {
          value += weights[static_cast<std::size_t>(p - begin)] / sum *
                   static_cast<double>(
                       v[static_cast<std::size_t>((p * shape.kv_heads + head) * dim + f)]);
        }
        ASSERT_NEAR(static_cast<double>(out[query + static_cast<std::size_t>(f)]), value, 3e-6)
            << codec << " row " << r << " head " << h << " feature " << f;
      }
    }
  }
}

TEST(DeviceAttention, FollowsItsDefinition) {
  const std::unique_ptr<Device> device = cpu_with(2);
  for (const Heads& shape : kHeads) {
    for (const char* codec : KvCodecs::kNames) {
      Sequences sequences(*device, shape, codec, 4);
      const Rows rows(shape, 150, 1);
      expect_definition(shape, codec, rows, sequences.in_chunks(rows, 150));
    }
  }
}

TEST(DeviceAttention, ChunksDoNotChangeABit) {
  const std::unique_ptr<Device> device = cpu_with(1);
  for (const Heads& shape : kHeads) {
    for (const char* codec : KvCodecs::kNames) {
      Sequences sequences(*device, shape, codec, 5);
      const Rows rows(shape, 261, 2);
      const std::vector<float> whole = sequences.in_chunks(rows, 261);
      for (const std::int64_t chunk : {1, 29, 64, 100, 260}) {
        ASSERT_EQ(sequences.in_chunks(rows, chunk), whole) << codec << " in chunks of " << chunk;
      }
    }
  }
}

TEST(DeviceAttention, CompanyAndThreadsDoNotChangeABit) {
  const std::int64_t before[] = {0, 70, 200, 1};
  const std::int64_t now[] = {40, 1, 7, 1};
  for (const Heads& shape : kHeads) {
    for (const char* codec : KvCodecs::kNames) {
      std::vector<std::vector<float>> expected;
      for (const int threads : {1, 2, 3}) {
        const std::unique_ptr<Device> device = cpu_with(threads);
        Sequences sequences(*device, shape, codec, 12);
        std::vector<std::vector<float>> alone;
        std::vector<std::unique_ptr<KvSequence>> kept;
        std::vector<Sequences::Part> together;
        std::vector<Rows> rows;
        for (std::uint32_t i = 0; i < 4; ++i) rows.emplace_back(shape, 210, 10 + i);
        for (std::size_t i = 0; i < 4; ++i) {
          for (int copy = 0; copy < 2; ++copy) {
            kept.push_back(sequences.sequence());
            if (before[i] > 0) sequences.run({{&rows[i], before[i], kept.back().get()}});
            if (copy == 0) {
              alone.push_back(sequences.run({{&rows[i], now[i], kept.back().get()}})[0]);
              kept.pop_back();
            } else {
              together.push_back({&rows[i], now[i], kept.back().get()});
            }
          }
        }
        ASSERT_EQ(sequences.run(together), alone) << codec << ", " << threads << " threads";
        if (threads == 1) expected = alone;
        ASSERT_EQ(alone, expected) << codec << ", " << threads << " threads";
      }
    }
  }
}

TEST(DeviceAttention, PagesBehindTheWindowMayBeGivenBack) {
  const std::unique_ptr<Device> device = cpu_with(1);
  Heads shape = kHeads[1];
  for (const std::int64_t window : {1, 64, 100}) {
    shape.window = window;
    for (const char* codec : KvCodecs::kNames) {
      Sequences wide(*device, shape, codec, 8);
      Sequences narrow(*device, shape, codec, 5);
      const Rows rows(shape, 450, 3);
      const std::vector<float> kept = wide.in_chunks(rows, 450);
      for (const std::int64_t chunk : {1, 31, 100}) {
        ASSERT_EQ(narrow.in_chunks(rows, chunk, true), kept)
            << codec << " window " << window << " in chunks of " << chunk;
        EXPECT_LE(narrow.most_pages(), static_cast<std::size_t>((window + chunk) / 64 + 2));
        EXPECT_EQ(narrow.pool().free_pages(), 5);
      }
    }
  }
}

// What a dry run foretold at the first window is enough after days.
TEST(DeviceAttention, AWindowTakesTheSameScratchHoweverLongItHasSlid) {
  const std::unique_ptr<Device> device = cpu_with(2);
  const AttentionShape shape{.heads = 4, .kv_heads = 2, .head_dim = 10, .window = 100};
  KvPool pool({1, 2, 10}, 0, 6, allocate_host(KvPool::storage_bytes({1, 2, 10}, 0, 6)));
  KvSequence kv(pool);
  const auto scratch = [&] {
    const Span span{.rows = 7, .kv = &kv};
    return device->attention_scratch_bytes(device->spans(std::span<const Span>(&span, 1)), shape);
  };
  std::size_t full = 0;
  for (std::int64_t length = 0; length < 2'000'000; length += 70) {
    ASSERT_TRUE(kv.reserve(length + 70));
    if (length == 140) full = scratch();
    if (length > 140) {
      ASSERT_EQ(scratch(), full) << length;
    }
    kv.advance(70);
    kv.drop_before(kv.length() - shape.window + 1);
  }
  EXPECT_GT(full, 0U);
}

TEST(DeviceAttention, AnotherLayersPagesAreLeftAlone) {
  const std::unique_ptr<Device> device = cpu_with(1);
  Sequences sequences(*device, kHeads[0], "f32", 3);
  const Rows rows(kHeads[0], 100, 4);
  sequences.in_chunks(rows, 100);
  const KvPool& pool = sequences.pool();
  const std::size_t bytes = kv_page_bytes(pool.layout(), pool.codec());
  for (std::int32_t id = 0; id < 3; ++id) {
    const std::byte* other = pool.page(0, id);
    EXPECT_TRUE(std::all_of(other, other + bytes, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(DeviceAttention, RowsWithoutReservedPagesAbort) {
  const std::unique_ptr<Device> device = cpu_with(1);
  const Heads& shape = kHeads[0];
  KvPool pool(Sequences::layout(shape), 0, 1,
              allocate_host(KvPool::storage_bytes(Sequences::layout(shape), 0, 1)));
  KvSequence kv(pool);
  const Rows rows(shape, 2, 5);
  const Span span{.rows = 2, .kv = &kv};
  const AttentionShape layer{.heads = 4, .kv_heads = 2, .head_dim = 10};
  const Spans spans = device->spans(std::span<const Span>(&span, 1));
  EXPECT_DEATH(device->attention(host_rows(rows.q, 2), host_rows(rows.k, 2), host_rows(rows.v, 2),
                                 spans, layer),
               "pages were reserved for the batch");
}

}  // namespace
}  // namespace verbatim
