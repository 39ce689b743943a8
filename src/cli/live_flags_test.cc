#include "cli/live_flags.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace verbatim {
namespace {

SessionOptions read(const std::vector<const char*>& arguments) {
  LiveFlags given;
  Flags flags("verbatim stream", "");
  declare(flags, given);
  flags.read(arguments);
  SessionOptions options;
  apply(given, options);
  return options;
}

std::string refusal(const std::vector<const char*>& arguments) {
  try {
    read(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
  return "";
}

TEST(LiveFlags, NothingAskedIsTheDefaultOfASession) {
  const SessionOptions options = read({});
  const SessionOptions preset;
  EXPECT_EQ(options.delay_ms, preset.delay_ms);
  EXPECT_EQ(options.stop_at_eos, preset.stop_at_eos);
  EXPECT_EQ(options.blank_rut_s, preset.blank_rut_s);
}

TEST(LiveFlags, WhatIsAskedReachesTheSession) {
  const SessionOptions options =
      read({"--delay-ms", "2400", "--eos", "stop", "--blank-rut", "12.5"});
  EXPECT_EQ(options.delay_ms, 2400);
  EXPECT_TRUE(options.stop_at_eos);
  EXPECT_EQ(options.blank_rut_s, 12.5);
  EXPECT_EQ(read({"--blank-rut", "off"}).blank_rut_s, 0);
  EXPECT_EQ(read({"--delay-ms", "80"}).delay_ms, 80);
}

TEST(LiveFlags, EveryOtherDelayIsRefusedWithTheList) {
  for (const char* const delay : {"0", "-80", "81", "2480", "80.0", "long", "080"}) {
    const std::string said = refusal({"--delay-ms", delay});
    EXPECT_EQ(said.rfind("--delay-ms: expected one of 80, 160, 240, ", 0), 0U) << said;
    EXPECT_NE(said.find(", 2320, 2400, found '" + std::string(delay) + "'"), std::string::npos)
        << said;
  }
}

TEST(LiveFlags, MistakesNameTheFlag) {
  EXPECT_EQ(refusal({"--eos", "maybe"}).rfind("--eos: ", 0), 0U);
  EXPECT_EQ(refusal({"--blank-rut", "never"}).rfind("--blank-rut: ", 0), 0U);
  EXPECT_EQ(refusal({"--blank-rut", "0"}).rfind("--blank-rut: ", 0), 0U);
}

}  // namespace
}  // namespace verbatim
