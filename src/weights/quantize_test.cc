// Weights made into other formats: scales and codes as the rules say, whoever makes them.
#include "weights/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "weights/recipe.h"

namespace verbatim {
namespace {

std::vector<float> random_values(std::int32_t out, std::int32_t in) {
  std::vector<float> values(static_cast<std::size_t>(out) * static_cast<std::size_t>(in));
  std::uint32_t state = 7;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    const float share = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    value = share * share * share;  // few are large
  }
  return values;
}

struct Made {
  WeightStorage storage;
  Weight weight;
};

void make(Made& made, const std::vector<float>& values, std::int32_t out, std::int32_t in,
          const std::string& choice, ThreadPool* workers = nullptr) {
  const Weight dense = dense_weight(kFormatF32, std::as_bytes(std::span(values)), out, in);
  made.weight =
      quantize(dense, weight_choice("--quant", choice), "layer.q_proj", made.storage, workers);
}

double error_of(const std::string& choice, std::int32_t out, std::int32_t in) {
  const std::vector<float> values = random_values(out, in);
  Made made;
  make(made, values, out, in, choice);
  std::vector<float> row(static_cast<std::size_t>(in));
  double wrong = 0, all = 0;
  for (std::int32_t r = 0; r < out; ++r) {
    made.weight.format->decode_row(made.weight, r, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const float was = values[static_cast<std::size_t>(r * in) + i];
      wrong += std::pow(row[i] - was, 2);
      all += std::pow(was, 2);
    }
  }
  return std::sqrt(wrong / all);
}

std::string message(const std::string& choice) {
  try {
    weight_choice("--quant", choice);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Quantize, WorkersChangeNoByte) {
  constexpr std::int32_t kOut = 33, kIn = 160;
  const std::vector<float> values = random_values(kOut, kIn);
  ThreadPool workers(3, false);
  for (const Recipe& recipe : recipes()) {
    Made alone, together;
    make(alone, values, kOut, kIn, recipe.name);
    make(together, values, kOut, kIn, recipe.name, &workers);
    for (std::size_t plane = 0; plane < alone.weight.planes.size(); ++plane) {
      const auto a = alone.weight.planes[plane];
      const auto b = together.weight.planes[plane];
      ASSERT_EQ(a.size(), b.size()) << recipe.name;
      EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) << recipe.name;
    }
  }
}

// Measured: 0.0955, 0.0864, 0.0818, 0.00575, 0.00577; a wrong scale or code is far outside.
TEST(Quantize, ErrorIsThatOfItsBits) {
  EXPECT_LT(error_of("nf4", 16, 256), 0.105);
  EXPECT_LT(error_of("int4", 16, 256), 0.095);
  EXPECT_LT(error_of("int4:32", 16, 256), 0.090);
  EXPECT_LT(error_of("int8", 16, 256), 0.0064);
  EXPECT_LT(error_of("w8a8", 16, 256), 0.0064);
}

TEST(Quantize, LeastSquaresBeatsTheHalfRange) {
  EXPECT_LT(error_of("4w_hqq", 16, 256), error_of("4w", 16, 256));
}

TEST(Quantize, HalfRangeIsWorkedOutByHand) {
  std::vector<float> values(32, 0.0F);
  values[0] = 7.5F;  // a scale of 1
  values[1] = 2.5F;  // halves go to the even code
  values[2] = 3.5F;
  values[3] = -7.4F;
  Made made;
  make(made, values, 1, 32, "4w");
  std::vector<float> row(32);
  made.weight.format->decode_row(made.weight, 0, row);
  EXPECT_EQ(row[0], 7);  // 7.5 would be 8, which four bits do not have
  EXPECT_EQ(row[1], 2);
  EXPECT_EQ(row[2], 4);
  EXPECT_EQ(row[3], -7);
}

TEST(Quantize, Nf4TiesGoToTheLowerCode) {
  std::vector<float> values(64, 0.0F);
  values[0] = 1;
  values[1] = (0.0795803F + 0.0F) * 0.5F;
  Made made;
  make(made, values, 1, 64, "nf4");
  std::vector<float> row(64);
  made.weight.format->decode_row(made.weight, 0, row);
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], 0);
}

TEST(Quantize, Nf4BlocksRunOnFromRowToRow) {
  // Rows of 96: the second block ends in the second row.
  std::vector<float> values(192, 0.01F);
  values[64] = 0.5F;   // row 0, block 1
  values[100] = 1.0F;  // row 1, the same block
  Made made;
  make(made, values, 2, 96, "nf4");
  EXPECT_EQ(made.weight.group, 32);
  std::vector<float> scales(6);
  std::memcpy(scales.data(), made.weight.planes[1].data(), sizeof(float) * 6);
  EXPECT_EQ(scales, (std::vector<float>{0.01F, 0.01F, 1.0F, 1.0F, 0.01F, 0.01F}));
}

TEST(Quantize, GroupsThatDoNotDivideFindOneThatDoes) {
  const WeightChoice choice = weight_choice("--quant", "int4");
  EXPECT_EQ(fitting_group(choice, 256), 128);
  EXPECT_EQ(fitting_group(choice, 160), 32);
  EXPECT_EQ(fitting_group(choice, 100), 100);
  EXPECT_EQ(fitting_group(choice, 136), 136);  // 8 would be all scales
  EXPECT_EQ(fitting_group(weight_choice("--quant", "w8a8"), 160), 160);
}

TEST(Quantize, ZerosStayZeros) {
  for (const Recipe& recipe : recipes()) {
    Made made;
    make(made, std::vector<float>(128, 0.0F), 1, 128, recipe.name);
    std::vector<float> row(128, 1.0F);
    made.weight.format->decode_row(made.weight, 0, row);
    EXPECT_TRUE(std::all_of(row.begin(), row.end(), [](float v) { return v == 0; })) << recipe.name;
  }
}

TEST(Quantize, NamesTheFirstRowThatIsNotFinite) {
  std::vector<float> values(4 * 64, 0.5F);
  values[2 * 64 + 3] = std::nanf("");
  values[3 * 64] = INFINITY;
  try {
    Made made;
    make(made, values, 4, 64, "int8");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "layer.q_proj.weight: row 2 holds a value that is not finite");
  }
}

TEST(WeightChoice, NamesWhatIsKnown) {
  EXPECT_EQ(message("int5"),
            "--quant: expected one of none, nf4, int4, int8, w8a8, w4a8, 4w, 4w_hqq, 8w, 8w_hqq, "
            "8da4w, 8da8w, found 'int5'");
  EXPECT_EQ(message("int4:48"),
            "--quant int4: expected groups of 32, 64 or 128, found groups of "
            "'48'");
  EXPECT_EQ(message("nf4:32"), "--quant nf4: expected no group, found groups of '32'");
  EXPECT_FALSE(weight_choice("--quant", "none"));
  EXPECT_EQ(weight_choice("--quant", "int4:32").text(), "int4:32");
  EXPECT_EQ(weight_choice("--quant", "int4:128").text(), "int4");
}

}  // namespace
}  // namespace verbatim
