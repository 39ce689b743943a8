// The sum that is told before a byte is placed, and the context that fits into a limit.
#include "engine/placement.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "engine/small_engine.h"

namespace verbatim {
namespace {

Placement placed(const EngineOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(options.model);
  DeviceOptions device;
  device.threads = options.threads;
  device.pin_threads = false;
  return place(options, checkpoint, recognise_family(checkpoint),
               *open_device(options.device, device));
}

// Two layers of two heads of sixteen numbers, keys and values, in pages of 64.
constexpr std::size_t kPageBytes = 2 * 2 * 2 * 16 * 64 * 4;

TEST(Placement, TheCacheIsWhatTheContextTakes) {
  EngineOptions options = small_options();
  EXPECT_EQ(placed(options).context, 512);
  EXPECT_EQ(placed(options).pages, 8);
  EXPECT_EQ(placed(options).memory.kv, 8 * kPageBytes);
  options.max_context = 513;
  EXPECT_EQ(placed(options).context, 513);
  EXPECT_EQ(placed(options).memory.kv, 9 * kPageBytes);
  options.slots = 3;
  EXPECT_EQ(placed(options).memory.kv, 27 * kPageBytes);
  options.kv = "f16";
  EXPECT_EQ(placed(options).memory.kv, 27 * kPageBytes / 2);
}

TEST(Placement, WithoutALimitTheContextIsTheAudiosOrTheCheckpoints) {
  EngineOptions options = small_options();
  options.max_context = 0;
  EXPECT_EQ(placed(options).context, 4096);
  options.expected_audio_s = 10;
  const std::int64_t ten = placed(options).context;
  EXPECT_LT(ten, 4096);
  options.expected_audio_s = 20;
  EXPECT_GE(placed(options).context, ten + 75);
  options.expected_audio_s = 1e12;
  EXPECT_EQ(placed(options).context, 4096);
  options.expected_audio_s = 10;
  options.expected_options.max_output_tokens = 1;
  EXPECT_LT(placed(options).context, ten);
  options.expected_options.context = std::string(300, 'a');
  EXPECT_GT(placed(options).context, ten - 512);
}

TEST(Placement, AClipOfTheExpectedLengthIsLetIn) {
  EngineOptions options = small_options();
  options.max_context = 0;
  options.expected_audio_s = 7.77;
  Engine engine(options);
  EXPECT_NE(engine.open("", {}, 7.77), nullptr);
}

TEST(Placement, WeightsAreCountedWhole) {
  const Placement tiny = placed(small_options());
  const Placement nano = placed(small_options(kNanoFolder));
  EXPECT_GE(tiny.memory.weights, static_cast<std::size_t>(tiny.info.parameters) * 4);
  EXPECT_LE(tiny.memory.weights, static_cast<std::size_t>(tiny.info.parameters) * 8);
  // The nano checkpoint keeps its weights in two bytes.
  EXPECT_GE(nano.memory.weights, static_cast<std::size_t>(nano.info.parameters) * 2);
  EXPECT_LT(nano.memory.weights, static_cast<std::size_t>(nano.info.parameters) * 4);
}

TEST(Placement, StateIsEverySlots) {
  EngineOptions options = small_options();
  const std::size_t one = placed(options).memory.state;
  EXPECT_GT(one, 0U);
  options.slots = 4;
  EXPECT_EQ(placed(options).memory.state, 4 * one);
}

TEST(Placement, TheArenaFollowsTheBudgets) {
  EngineOptions options = small_options();
  const std::size_t base = placed(options).memory.arena;
  options.encode_room_s = 8;
  EXPECT_GT(placed(options).memory.arena, base);
  options.encode_room_s = 0.2;
  const std::size_t small = placed(options).memory.arena;
  EXPECT_LT(small, base);
  options.decode_room_rows = 64;
  EXPECT_LT(placed(options).memory.arena, small);
}

TEST(Placement, ALimitThatHoldsEverythingIsEnoughAndAByteLessIsNot) {
  EngineOptions options = small_options();
  const std::size_t total = placed(options).memory.total();
  options.memory_limit_bytes = total;
  EXPECT_EQ(placed(options).memory.total(), total);
  options.memory_limit_bytes = total - 1;
  const std::string message = message_of(Code::kExhausted, [&] { placed(options); });
  for (const char* part : {"weights ", "KV ", "512 positions", "arena ", "state ", "memory limit"})
    EXPECT_TRUE(contains(message, part)) << message;
  EXPECT_TRUE(contains(message, formatted("= %.1f MiB", static_cast<double>(total) / (1 << 20))))
      << message;
}

TEST(Placement, WithoutAWishTheContextShrinksIntoTheLimit) {
  EngineOptions options = small_options();
  options.max_context = 0;
  options.slots = 2;
  const Placement whole = placed(options);
  options.memory_limit_bytes = whole.memory.total() - whole.memory.kv / 2;
  const Placement half = placed(options);
  EXPECT_EQ(half.context, whole.context / 2);
  EXPECT_EQ(half.pages, whole.pages / 2);
  EXPECT_LE(half.memory.total(), options.memory_limit_bytes);
  // It is a context that works, and a clip beyond it is refused.
  Engine engine(options);
  EXPECT_EQ(engine.memory().total(), half.memory.total());
  EXPECT_TRUE(contains(message_of(Code::kExhausted, [&] { engine.open("", {}, 400); }),
                       formatted("%lld are there", static_cast<long long>(half.context))));

  options.memory_limit_bytes = whole.memory.weights;
  message_of(Code::kExhausted, [&] { placed(options); });
}

TEST(Placement, AWishedContextNeverShrinks) {
  EngineOptions options = small_options();
  options.max_context = 0;
  options.expected_audio_s = 30;
  const Placement whole = placed(options);
  options.memory_limit_bytes = whole.memory.total() - whole.memory.kv / 2;
  message_of(Code::kExhausted, [&] { placed(options); });
}

TEST(Placement, AMinuteOfAudioHasItsPrice) {
  EngineOptions options = small_options();
  const double minute = placed(options).kv_bytes_per_minute;
  // 450 frames at the least, and the pages they fill.
  EXPECT_GT(minute, 450.0 / 64 * kPageBytes);
  EXPECT_LT(minute, 4096.0 / 64 * kPageBytes);
  options.kv = "f16";
  EXPECT_DOUBLE_EQ(placed(options).kv_bytes_per_minute, minute / 2);
}

TEST(Placement, TheLongestContextIsSizedAndLongerOnesAreRefused) {
  EngineOptions options = small_options();
  options.max_context = std::int64_t{1} << 30;
  EXPECT_EQ(placed(options).memory.kv, (kPageBytes << 24));
  ++options.max_context;
  EXPECT_TRUE(contains(message_of(Code::kExhausted, [&] { placed(options); }), "1073741825"));
  options.max_context = std::int64_t{1} << 40;
  EXPECT_TRUE(contains(message_of(Code::kExhausted, [&] { placed(options); }), "1099511627776"));
}

}  // namespace
}  // namespace verbatim
