// Pages come, go and come back, and nothing is lost on the way.
#include "kv/pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kv/codecs.h"

namespace verbatim {
namespace {

constexpr KvLayout kLayout{.layers = 3, .kv_heads = 2, .head_dim = 20};

class PoolTest : public testing::TestWithParam<int> {
 protected:
  KvPool made(std::int32_t pages) const {
    return {kLayout, GetParam(), pages,
            allocate_host(KvPool::storage_bytes(kLayout, GetParam(), pages))};
  }
};

INSTANTIATE_TEST_SUITE_P(EveryCodec, PoolTest,
                         testing::Range(0, static_cast<int>(KvCodecs::kNames.size())),
                         [](const auto& each) {
                           return std::string(
                               KvCodecs::kNames[static_cast<std::size_t>(each.param)]);
                         });

TEST_P(PoolTest, PagesReturnWhenTheirSequenceEnds) {
  KvPool pool = made(10);
  EXPECT_EQ(pool.free_pages(), 10);
  {
    KvSequence a(pool);
    KvSequence b(pool);
    EXPECT_TRUE(a.reserve(3 * kPagePositions));
    EXPECT_TRUE(b.reserve(1));
    EXPECT_EQ(pool.free_pages(), 6);
    EXPECT_EQ(a.pages().size(), 3U);
    EXPECT_EQ(b.pages().size(), 1U);
  }
  EXPECT_EQ(pool.free_pages(), 10);
}

TEST_P(PoolTest, ReserveTakesWholePagesAndOnlyWhatIsMissing) {
  KvPool pool = made(10);
  KvSequence kv(pool);
  EXPECT_TRUE(kv.reserve(0));
  EXPECT_EQ(pool.free_pages(), 10);
  EXPECT_TRUE(kv.reserve(64));
  EXPECT_EQ(pool.free_pages(), 9);
  EXPECT_TRUE(kv.reserve(65));
  EXPECT_EQ(pool.free_pages(), 8);
  EXPECT_TRUE(kv.reserve(1));
  EXPECT_TRUE(kv.reserve(128));
  EXPECT_EQ(pool.free_pages(), 8);
  EXPECT_EQ(kv.length(), 0);
}

TEST_P(PoolTest, AReserveThatDoesNotFitTakesNothing) {
  KvPool pool = made(4);
  KvSequence first(pool);
  KvSequence second(pool);
  EXPECT_TRUE(first.reserve(2 * kPagePositions));
  EXPECT_TRUE(second.reserve(1));
  const std::vector<std::int32_t> before(second.pages().begin(), second.pages().end());
  EXPECT_FALSE(second.reserve(3 * kPagePositions));
  EXPECT_EQ(pool.free_pages(), 1);
  EXPECT_EQ(std::vector<std::int32_t>(second.pages().begin(), second.pages().end()), before);
  EXPECT_TRUE(second.reserve(2 * kPagePositions));
  EXPECT_EQ(pool.free_pages(), 0);
}

TEST_P(PoolTest, NoPageHasTwoOwners) {
  KvPool pool = made(12);
  std::vector<std::unique_ptr<KvSequence>> sequences;
  for (int round = 0; round < 5; ++round) {
    sequences.clear();
    for (int i = 0; i < 4; ++i) {
      sequences.push_back(std::make_unique<KvSequence>(pool));
      ASSERT_TRUE(sequences.back()->reserve((1 + (i + round) % 4) * kPagePositions));
    }
    sequences.erase(sequences.begin() + round % 4);
    sequences.push_back(std::make_unique<KvSequence>(pool));
    ASSERT_TRUE(sequences.back()->reserve(kPagePositions));
    std::set<std::int32_t> seen;
    for (const auto& kv : sequences) {
      for (const std::int32_t id : kv->pages()) {
        EXPECT_TRUE(id >= 0 && id < 12);
        EXPECT_TRUE(seen.insert(id).second) << id;
      }
    }
    EXPECT_EQ(static_cast<int>(seen.size()) + pool.free_pages(), 12);
  }
}

TEST_P(PoolTest, PagesOfAllLayersAreApartAndInsideTheStorage) {
  KvPool pool = made(5);
  const std::size_t bytes = kv_page_bytes(kLayout, GetParam());
  std::set<const std::byte*> starts;
  for (std::int32_t layer = 0; layer < kLayout.layers; ++layer) {
    for (std::int32_t id = 0; id < 5; ++id) {
      std::byte* page = pool.page(layer, id);
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(page[i], std::byte{0});
      std::memset(page, 0xff, bytes);  // what overlaps would be seen above
      starts.insert(page);
    }
  }
  EXPECT_EQ(starts.size(), 15U);
  EXPECT_EQ(*starts.rbegin() - *starts.begin(), static_cast<std::ptrdiff_t>(14 * bytes));
  EXPECT_EQ(KvPool::storage_bytes(kLayout, GetParam(), 5), 15 * bytes);
}

TEST_P(PoolTest, DropBeforeGivesBackPagesThatLieWhollyBefore) {
  KvPool pool = made(8);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(5 * kPagePositions));
  kv.advance(5 * kPagePositions);
  const std::int32_t third = kv.pages()[2];
  kv.drop_before(63);
  EXPECT_EQ(kv.first_page(), 0);
  kv.drop_before(2 * kPagePositions + 1);
  EXPECT_EQ(kv.first_page(), 2);
  EXPECT_EQ(pool.free_pages(), 5);
  EXPECT_EQ(kv.pages().size(), 3U);
  EXPECT_EQ(kv.pages()[0], third);
  kv.drop_before(64);  // what is gone stays gone
  EXPECT_EQ(kv.first_page(), 2);
  EXPECT_EQ(kv.length(), 5 * kPagePositions);
}

TEST_P(PoolTest, ASequenceWithAWindowRunsForEverInFewPages) {
  KvPool pool = made(4);
  KvSequence kv(pool);
  constexpr std::int64_t kWindow = 100;
  for (std::int64_t position = 0; position < 10000; position += 20) {
    ASSERT_TRUE(kv.reserve(position + 20)) << position;
    kv.advance(20);
    kv.drop_before(kv.length() - kWindow + 1);
  }
  EXPECT_EQ(kv.length(), 10000);
  EXPECT_LE(kv.pages().size(), 3U);
  EXPECT_EQ(static_cast<int>(kv.pages().size()) + pool.free_pages(), 4);
}

TEST_P(PoolTest, TruncateKeepsThePagesForWhatComesNext) {
  KvPool pool = made(8);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(3 * kPagePositions));
  kv.advance(150);
  kv.truncate(10);
  EXPECT_EQ(kv.length(), 10);
  EXPECT_EQ(kv.pages().size(), 3U);
  kv.advance(3 * kPagePositions - 10);
  EXPECT_EQ(kv.length(), 3 * kPagePositions);
}

TEST_P(PoolTest, AClearedSequenceStartsAtPositionZeroWithEveryPageGivenBack) {
  KvPool pool = made(4);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(4 * kPagePositions));
  kv.advance(3 * kPagePositions + 5);
  kv.drop_before(2 * kPagePositions);
  kv.clear();
  EXPECT_EQ(pool.free_pages(), 4);
  EXPECT_EQ(kv.length(), 0);
  EXPECT_EQ(kv.first_page(), 0);
  EXPECT_TRUE(kv.pages().empty());
  kv.clear();  // of nothing is nothing
  EXPECT_EQ(pool.free_pages(), 4);
  ASSERT_TRUE(kv.reserve(4 * kPagePositions));
  EXPECT_EQ(std::set<std::int32_t>(kv.pages().begin(), kv.pages().end()).size(), 4U);
  kv.advance(4 * kPagePositions);
  EXPECT_EQ(kv.length(), 4 * kPagePositions);
}

TEST_P(PoolTest, BrokenPromisesAbort) {
  KvPool pool = made(4);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(kPagePositions));
  kv.advance(60);
  EXPECT_DEATH(kv.advance(5), "rows were reserved before they were stored");
  EXPECT_DEATH(kv.truncate(61), "a prefix that is still held");
  EXPECT_DEATH(kv.drop_before(2 * kPagePositions), "a window never outruns its sequence");
  EXPECT_DEATH(KvPool(kLayout, GetParam(), 5, allocate_host(64)), "storage holds its pages");
}

TEST(KvCodecs, EveryNameIsKnown) {
  for (std::size_t i = 0; i < KvCodecs::kNames.size(); ++i) {
    EXPECT_EQ(kv_codec(KvCodecs::kNames[i]), static_cast<int>(i));
  }
}

TEST(KvCodecs, AnUnknownNameListsTheKnownOnes) {
  try {
    kv_codec("f64");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_STREQ(error.what(), "KV format 'f64' is unknown; known are f32, f16");
  }
}

TEST(KvCodecs, APageOfF16IsHalfAPageOfF32) {
  EXPECT_EQ(kv_page_bytes(kLayout, kv_codec("f32")), 2 * kv_page_bytes(kLayout, kv_codec("f16")));
  // Two heads, 64 positions of 20 key features and of 20 value features padded to 32.
  EXPECT_EQ(kv_page_bytes(kLayout, kv_codec("f32")), 2U * 64 * (20 + 32) * 4);
}

}  // namespace
}  // namespace verbatim
