// The first signal asks, the second one ends the process.
#include "base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace verbatim {
namespace {

TEST(InterruptDeathTest, TheFirstSignalOnlySetsTheFlag) {
  const auto interrupt_once = [] {
    install_interrupt_handler();
    const bool before = is_interrupted();
    raise(SIGTERM);
    std::_Exit(!before && is_interrupted() ? 7 : 1);
  };
  EXPECT_EXIT(interrupt_once(), testing::ExitedWithCode(7), "");
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  const auto interrupt_twice = [] {
    install_interrupt_handler();
    raise(SIGINT);
    raise(SIGINT);
    std::_Exit(0);
  };
  EXPECT_EXIT(interrupt_twice(), testing::KilledBySignal(SIGINT), "");
}

TEST(Interrupt, TestsMaySetAndClearTheFlag) {
  set_interrupted(true);
  EXPECT_TRUE(is_interrupted());
  set_interrupted(false);
  EXPECT_FALSE(is_interrupted());
}

}  // namespace
}  // namespace verbatim
