// The filter of the output head changes no token of a recording.
#include <gtest/gtest.h>

#include "models/model_run.h"
#include "tests/invariance/nano.h"

namespace verbatim {
namespace {

class HeadFilterTest : public testing::TestWithParam<Nano> {
 protected:
  // Every token of a recording, one behind the other.
  static std::vector<std::byte> tokens(HeadFilterUse filter) {
    KeepTap tap("token");
    ModelRun run(std::string(GetParam().folder), &tap, 1, {}, filter);
    run.run(nano_clip(GetParam()), {});
    return tap.bytes;
  }
};

TEST_P(HeadFilterTest, EveryTokenOfARecordingIsThatOfTheWholeHead) {
  const std::vector<std::byte> exact = tokens(HeadFilterUse::kNever);
  EXPECT_GT(exact.size(), 20 * sizeof(std::int32_t));
  EXPECT_EQ(tokens(HeadFilterUse::kAlways), exact);
}

INSTANTIATE_TEST_SUITE_P(Nanos, HeadFilterTest, testing::Values(kVibeVoiceNano, kVoxtralNano));

}  // namespace
}  // namespace verbatim
