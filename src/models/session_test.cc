// What sessions add to a batch, and in which order it lies there.
#include "models/session.h"

#include <gtest/gtest.h>

#include "kv/codecs.h"
#include "kv/pool.h"
#include "models/model.h"

namespace verbatim {
namespace {

Tensor rows_of(std::vector<float>& values) {
  Tensor made;
  made.data = std::as_writable_bytes(std::span(values)).data();
  made.rows = static_cast<std::int64_t>(values.size());
  made.cols = 1;
  made.stride = 1;
  return made;
}

class DecodeBatchTest : public testing::Test {
 protected:
  static constexpr KvLayout kLayout{1, 1, 2};
  KvPool pool_{kLayout, kv_codec("f32"), 4,
               allocate_host(KvPool::storage_bytes(kLayout, kv_codec("f32"), 4))};
  KvSequence first_{pool_};
  KvSequence second_{pool_};
  const std::vector<RowInput> rows_ = std::vector<RowInput>(5, RowInput{7, {}});
  std::span<const RowInput> some(std::size_t count) const { return std::span(rows_).first(count); }
};

TEST(EncodeBatch, SequencesLieEndToEndAndTakeFromTheRoom) {
  std::vector<float> a(6), b(4), c(1);
  EncodeBatch batch(2.0);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.add({.rows = rows_of(a), .audio_s = 0.5, .position = 12}), 0);
  EXPECT_EQ(batch.add({.rows = rows_of(b), .audio_s = 0.25, .last = true}), 1);
  EXPECT_EQ(batch.add({.rows = rows_of(c), .audio_s = 3.0, .position = 4, .last = true}), 2);
  EXPECT_DOUBLE_EQ(batch.room_s(), -1.75);
  ASSERT_EQ(batch.spans().size(), 3U);
  EXPECT_EQ(batch.spans()[0].first_row, 0);
  EXPECT_EQ(batch.spans()[1].first_row, 6);
  EXPECT_EQ(batch.spans()[2].first_row, 10);
  EXPECT_EQ(batch.spans()[0].position, 12);
  EXPECT_FALSE(batch.spans()[0].last);
  EXPECT_TRUE(batch.spans()[1].last);
  EXPECT_EQ(batch.items()[1].rows.data, rows_of(b).data);
  batch.clear(1.0);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.spans().size(), 0U);
  EXPECT_EQ(batch.room_s(), 1.0);
}

TEST_F(DecodeBatchTest, RowsOfAllLieEndToEndAndTakeFromTheRoom) {
  DecodeBatch batch(8);
  EXPECT_EQ(batch.add(first_, some(5), 3, Want::kToken, 2, "step"), 0);
  EXPECT_EQ(batch.add(second_, some(2), 0, Want::kNothing), 1);
  EXPECT_EQ(batch.room(), 1);
  EXPECT_EQ(batch.rows().size(), 7U);
  ASSERT_EQ(batch.spans().size(), 2U);
  EXPECT_EQ(batch.spans()[1].first_row, 5);
  EXPECT_EQ(batch.spans()[0].condition, 2);
  EXPECT_EQ(batch.spans()[0].kv, &first_);
  EXPECT_EQ(batch.spans()[1].kv, &second_);
  EXPECT_STREQ(batch.spans()[0].phase, "step");
  EXPECT_EQ(batch.token(0), -1);
  batch.clear(3);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.rows().size(), 0U);
  EXPECT_EQ(batch.room(), 3);
}

TEST_F(DecodeBatchTest, OnlyTheLastRowsOfThoseThatWantSomethingAreSought) {
  DecodeBatch batch(16);
  batch.add(first_, some(5), 10, Want::kLogits);
  batch.add(second_, some(3), 0, Want::kNothing);
  batch.add(first_, some(1), 20, Want::kToken, 0, "step");
  batch.seek();
  ASSERT_EQ(batch.sought().size(), 2U);
  EXPECT_EQ(batch.sought()[0], 4);
  EXPECT_EQ(batch.sought()[1], 8);
  ASSERT_EQ(batch.sought_spans().size(), 2U);
  EXPECT_EQ(batch.sought_spans()[0].position, 14);
  EXPECT_EQ(batch.sought_spans()[1].position, 20);
  EXPECT_EQ(batch.sought_spans()[0].first_row, 0);
  EXPECT_EQ(batch.sought_spans()[1].first_row, 1);
  EXPECT_EQ(batch.sought_spans()[0].rows, 1);
  batch.seek();  // again gives the same
  EXPECT_EQ(batch.sought().size(), 2U);
  batch.clear(16);
  batch.add(first_, some(2), 0, Want::kNothing);
  batch.seek();
  EXPECT_TRUE(batch.sought().empty());
}

class Talker final : public Session {
 public:
  void push(std::span<const float>) override {}
  void finish() override {}
  void stop() override { post(Done{}); }
  bool done() const override { return false; }
  void plan(EncodeBatch&) override {}
  void take(const EncodeBatch&) override {}
  void plan(DecodeBatch&) override { post(TextDelta{"a", 0, 0}); }
  void take(const DecodeBatch&) override {}
};

TEST(Session, EventsAreDrainedOnceAndBehindWhatIsThere) {
  Talker talker;
  DecodeBatch batch(1);
  talker.plan(batch);
  talker.stop();
  std::vector<Event> events{Progress{}};
  talker.drain(events);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<TextDelta>(events[1]));
  EXPECT_TRUE(std::holds_alternative<Done>(events[2]));
  talker.drain(events);
  EXPECT_EQ(events.size(), 3U);
}

}  // namespace
}  // namespace verbatim
