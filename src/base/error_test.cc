// Errors carry their code and a whole sentence; a broken promise names itself.
#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace verbatim {
namespace {

TEST(Error, CarriesItsCodeAndTheFormattedSentence) {
  try {
    fail(Code::kCorrupt, "%s: expected %d rows, found %d", "model.safetensors", 3, 4);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    EXPECT_STREQ(error.what(), "model.safetensors: expected 3 rows, found 4");
    return;
  }
  FAIL() << "fail() returned";
}

TEST(Error, LongSentencesAreWhole) {
  const std::string path(10000, 'p');
  EXPECT_EQ(formatted("%s!", path.c_str()), path + "!");
  EXPECT_EQ(formatted("%s", ""), "");
}

TEST(AppendListed, CommasStandBetween) {
  std::string list;
  append_listed(list, "f32");
  EXPECT_EQ(list, "f32");
  append_listed(list, "f16");
  append_listed(list, "");
  EXPECT_EQ(list, "f32, f16, ");
}

TEST(ErrorDeathTest, ABrokenPromiseNamesClaimAndFile) {
  check(true, "the sky is blue");
  EXPECT_DEATH(check(false, "the sky is green"), "error_test.cc:[0-9]+: .*the sky is green");
}

}  // namespace
}  // namespace verbatim
