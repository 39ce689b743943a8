// When the decoder is to start over.
#include "models/voxtral/rut_guard.h"

#include <gtest/gtest.h>

namespace verbatim::voxtral {
namespace {

constexpr double kToken = 0.08;

// Hears `count` tokens from `first` on; the first answer that is no -1.
std::int64_t hear(RutGuard& guard, std::int64_t first, std::int64_t count, bool is_speech) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t answer = guard.hear(first + i, is_speech, false);
    if (answer >= 0) return answer;
  }
  return -1;
}

TEST(RutGuard, SpeechWithoutTextBeyondTheLimitIsHeardAgainFromItsBeginning) {
  RutGuard guard(8, kToken);
  EXPECT_EQ(hear(guard, 0, 50, false), -1);
  EXPECT_EQ(hear(guard, 50, 100, true), -1);  // eight seconds are allowed
  EXPECT_EQ(guard.hear(150, true, false), 50);
}

TEST(RutGuard, TextEndsAStretch) {
  RutGuard guard(8, kToken);
  EXPECT_EQ(hear(guard, 0, 100, true), -1);
  EXPECT_EQ(guard.hear(100, true, true), -1);
  EXPECT_EQ(hear(guard, 101, 100, true), -1);
  EXPECT_EQ(guard.hear(201, true, false), 101);
}

TEST(RutGuard, ALongPauseEndsAStretchAndAShortOneDoesNot) {
  RutGuard guard(8, kToken);
  EXPECT_EQ(hear(guard, 0, 100, true), -1);
  EXPECT_EQ(hear(guard, 100, 25, false), -1);
  EXPECT_EQ(guard.hear(125, true, false), 0);
  RutGuard patient(8, kToken);
  EXPECT_EQ(hear(patient, 0, 100, true), -1);
  EXPECT_EQ(hear(patient, 100, 26, false), -1);
  EXPECT_EQ(hear(patient, 126, 100, true), -1);
}

TEST(RutGuard, WhatIsHeardAgainDoesNotCountAgain) {
  RutGuard guard(8, kToken);
  EXPECT_EQ(hear(guard, 0, 200, true), 0);
  EXPECT_EQ(hear(guard, 0, 101, true), -1);
  EXPECT_EQ(hear(guard, 101, 200, true), -1);
  EXPECT_EQ(guard.hear(301, true, false), 101);
}

TEST(RutGuard, EachVainAttemptDoublesThePatienceUntilTextComes) {
  RutGuard guard(8, kToken);
  std::int64_t at = 0;
  for (const std::int64_t limit : {100, 200, 400, 800, 1600, 1600}) {
    EXPECT_EQ(guard.limit_tokens(), limit);
    EXPECT_EQ(hear(guard, at, limit + 1, true), at);
    at += limit + 1;
  }
  guard.hear(at, true, true);
  EXPECT_EQ(guard.limit_tokens(), 100);
}

TEST(RutGuard, ZeroIsOff) {
  RutGuard guard(0, kToken);
  EXPECT_EQ(hear(guard, 0, 10000, true), -1);
}

}  // namespace
}  // namespace verbatim::voxtral
