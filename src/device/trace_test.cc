// Who is shown what, under which name, and that nobody is shown anything for free.
#include "device/trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/counted_allocations.h"
#include "device/small_run.h"

namespace verbatim {
namespace {

struct Seen {
  std::string name;
  std::vector<float> values;
  std::int64_t rows = 0;
  std::vector<Span> spans;
};

class Listener final : public Tap {
 public:
  explicit Listener(std::string only = "") : only_(std::move(only)) {}
  bool wants(std::string_view name) const override {
    asked.emplace_back(name);
    return only_.empty() || name == only_;
  }
  void see(std::string_view name, const Tensor& rows, const Spans& spans) override {
    Seen made;
    made.name = name;
    made.rows = rows.rows;
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      const std::span<const float> row = rows.row<const float>(r);
      made.values.insert(made.values.end(), row.begin(), row.end());
    }
    made.spans.assign(spans.host.begin(), spans.host.end());
    seen.push_back(std::move(made));
  }
  mutable std::vector<std::string> asked;
  std::vector<Seen> seen;

 private:
  std::string only_;
};

class TraceTest : public testing::Test {
 protected:
  TraceTest() : device_(cpu_with(1)) {
    batch_[0] = {.first_row = 0, .rows = 1, .position = 7, .phase = "step"};
    batch_[1] = {.first_row = 1, .rows = 2, .position = 30};
    spans_ = device_->spans(batch_);
    rows_ = host_rows(values_, 3);
  }
  std::unique_ptr<Device> device_;
  std::array<Span, 2> batch_;
  Spans spans_;
  std::vector<float> values_{1, 2, 3, 4, 5, 6};
  Tensor rows_;
};

TEST_F(TraceTest, NamesAreScopesFromTheOutsideJoinedByDots) {
  Listener tap;
  const Trace root(&tap);
  const Trace here = root.on(*device_, spans_);
  here("x", rows_);
  const Trace dec = here.at("dec", 3);
  dec("ctx", rows_);
  const Trace enc = here.at("enc");
  const Trace side = enc.at("a");
  const Trace stage = side.at("stage", 0);
  const Trace block = stage.at("block", 12);
  block("mix", rows_);
  ASSERT_EQ(tap.seen.size(), 3U);
  EXPECT_EQ(tap.seen[0].name, "x");
  EXPECT_EQ(tap.seen[1].name, "dec.3.ctx");
  EXPECT_EQ(tap.seen[2].name, "enc.a.stage.0.block.12.mix");
}

TEST_F(TraceTest, SpansAreShownAsTheyAre) {
  Listener tap;
  Trace(&tap).on(*device_, spans_)("x", rows_);
  ASSERT_EQ(tap.seen.size(), 1U);
  ASSERT_EQ(tap.seen[0].spans.size(), 2U);
  EXPECT_EQ(tap.seen[0].spans[0].position, 7);
  EXPECT_STREQ(tap.seen[0].spans[0].phase, "step");
  EXPECT_EQ(tap.seen[0].spans[1].first_row, 1);
  EXPECT_EQ(tap.seen[0].spans[1].rows, 2);
  EXPECT_STREQ(tap.seen[0].spans[1].phase, "");
  EXPECT_EQ(tap.seen[0].values, values_);
}

TEST_F(TraceTest, RowsThatLieApartAreShownWithoutTheirGaps) {
  Listener tap;
  Tensor part = rows_;
  part.cols = 1;
  Trace(&tap).on(*device_, spans_)("x", part);
  ASSERT_EQ(tap.seen.size(), 1U);
  EXPECT_EQ(tap.seen[0].values, (std::vector<float>{1, 3, 5}));
}

TEST_F(TraceTest, OnlyWhatIsWantedIsCopied) {
  Listener tap("dec.1.q");
  const Trace here = Trace(&tap).on(*device_, spans_);
  const Trace first = here.at("dec", 0);
  const Trace second = here.at("dec", 1);
  first("q", rows_);
  second("q", rows_);
  second("k", rows_);
  ASSERT_EQ(tap.seen.size(), 1U);
  EXPECT_EQ(tap.seen[0].name, "dec.1.q");
  EXPECT_EQ(tap.asked, (std::vector<std::string>{"dec.0.q", "dec.1.q", "dec.1.k"}));
  EXPECT_TRUE(second.wants("q"));
  EXPECT_FALSE(second.wants("v"));
  EXPECT_TRUE(second.listens());
}

TEST_F(TraceTest, HostRowsHaveOneSpanOfTheirOwn) {
  Listener tap;
  const Trace root(&tap);
  root.host("pcm", rows_, 480, "step");
  ASSERT_EQ(tap.seen.size(), 1U);
  EXPECT_EQ(tap.seen[0].name, "pcm");
  ASSERT_EQ(tap.seen[0].spans.size(), 1U);
  EXPECT_EQ(tap.seen[0].spans[0].first_row, 0);
  EXPECT_EQ(tap.seen[0].spans[0].rows, 3);
  EXPECT_EQ(tap.seen[0].spans[0].position, 480);
  EXPECT_STREQ(tap.seen[0].spans[0].phase, "step");
}

TEST_F(TraceTest, WithoutAListenerNothingIsBuiltOrCopied) {
  const Trace root;
  const std::int64_t before = counted_allocations();
  const Trace here = root.on(*device_, spans_);
  const Trace dec = here.at("a scope with a name that is too long for a short string", 3);
  dec("another name that is too long for a short string", rows_);
  dec.host("pcm", rows_, 0);
  EXPECT_FALSE(dec.listens());
  EXPECT_FALSE(dec.wants("x"));
  EXPECT_EQ(counted_allocations(), before);
}

TEST_F(TraceTest, ATraceThatDoesNotKnowItsRowsAborts) {
  Listener tap;
  const Trace root(&tap);
  EXPECT_DEATH(root("x", rows_), "a trace knows where its rows live");
}

}  // namespace
}  // namespace verbatim
