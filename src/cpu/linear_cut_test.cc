// Cuts of matrix products: every element once, parts worth their worker, panels that stay together.
#include "cpu/linear_cut.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "cpu/kernels/linear_shapes.h"

namespace verbatim {
namespace {

LinearCall product(std::int64_t rows, std::int32_t in, std::int32_t out) {
  LinearCall whole;
  whole.rows = rows;
  whole.in_features = in;
  whole.out_features = out;
  return whole;
}

TEST(LinearCut, AFewRowsStreamTheirPanelsFourAtATime) {
  for (const LinearShape& shape : kDecoderShapes) {
    for (const std::int64_t rows : {1, 2, 4}) {
      for (const int threads : {1, 2, 4, 8}) {
        const LinearCut cut = linear_cut(product(rows, shape.in, shape.out), threads);
        EXPECT_FALSE(cut.by_rows);
        EXPECT_EQ(cut.count, panel_count(shape.out));
        EXPECT_EQ(cut.grain % kStreamPanels, 0) << rows << " x " << shape.in << " -> " << shape.out;
      }
    }
  }
}

TEST(LinearCut, PanelsAreLeftAloneWhereThatEndsEarlier) {
  // Twelve panels for six workers: two each, rather than four each for three of them.
  EXPECT_EQ(linear_cut(product(4, 3584, 12 * kLanes), 6).grain, 2);
  EXPECT_EQ(linear_cut(product(4, 3584, 12 * kLanes), 3).grain, 4);
}

TEST(LinearCut, ManyRowsTakePairsOfPanels) {
  EXPECT_EQ(linear_cut(product(5, 3584, 3584), 2).grain, 2);
  EXPECT_EQ(linear_cut(product(512, 3584, 3584), 2).grain, 2);
}

TEST(LinearCut, FewPanelsOfManyRowsAreCutByRows) {
  const LinearCut cut = linear_cut(product(4096, 128, 32), 4);
  EXPECT_TRUE(cut.by_rows);
  EXPECT_EQ(cut.count, 4096);
  EXPECT_EQ(cut.grain % 48, 0);
  EXPECT_FALSE(linear_cut(product(64, 128, 32), 4).by_rows);
}

TEST(LinearCut, RowsOfASmallWeightStayWithTheirWorker) {
  EXPECT_TRUE(linear_cut(product(288, 128, 512), 2).by_rows);
  EXPECT_TRUE(linear_cut(product(288, 256, 1024), 2).by_rows);
  EXPECT_FALSE(linear_cut(product(288, 512, 2048), 2).by_rows) << "a weight of 4 MiB";
  EXPECT_FALSE(linear_cut(product(288, 256, 1024), 8).by_rows) << "too few rows for eight";
}

TEST(LinearCut, SmallProductsAreNotCut) {
  const LinearCut cut = linear_cut(product(1, 64, 256), 8);
  EXPECT_GE(cut.grain, cut.count);
}

TEST(LinearCut, PartsTogetherAreTheWhole) {
  std::vector<float> x(300 * 5), y(300 * 40), residual(300 * 41);
  std::byte scratch{};
  LinearCall whole = product(300, 4, 40);
  whole.x = x.data();
  whole.x_stride = 5;
  whole.y = y.data();
  whole.y_stride = 40;
  whole.residual = residual.data();
  whole.residual_stride = 41;
  const LinearCut by_panels{.by_rows = false, .count = 3, .grain = 2};
  const LinearCall panels = by_panels.part(whole, 2, 3, &scratch);
  EXPECT_EQ(panels.panel, 2);
  EXPECT_EQ(panels.panels, 1);
  EXPECT_EQ(panels.rows, 300);
  EXPECT_EQ(panels.x, x.data());
  EXPECT_EQ(panels.scratch, &scratch);
  const LinearCut by_rows{.by_rows = true, .count = 300, .grain = 48};
  const LinearCall rows = by_rows.part(whole, 48, 96, &scratch);
  EXPECT_EQ(rows.panel, 0);
  EXPECT_EQ(rows.panels, 3);
  EXPECT_EQ(rows.rows, 48);
  EXPECT_EQ(rows.x, x.data() + 48 * 5);
  EXPECT_EQ(rows.y, y.data() + 48 * 40);
  EXPECT_EQ(rows.residual, residual.data() + 48 * 41);
  whole.residual = nullptr;
  EXPECT_EQ(by_rows.part(whole, 48, 96, &scratch).residual, nullptr);
}

}  // namespace
}  // namespace verbatim
