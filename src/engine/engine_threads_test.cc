// Many clients at once, each at its own pace; the thread sanitizer's view of the engine. Choices
// come from seeded generators, and nothing here waits for time to pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <random>
#include <thread>

#include "engine/engine.h"
#include "engine/small_engine.h"

namespace verbatim {
namespace {

constexpr std::chrono::hours kForever{1};
constexpr int kClips = 3;

EngineOptions threaded() {
  EngineOptions options = small_options();
  options.own_thread = true;
  options.threads = 2;
  options.slots = 3;
  options.waiting = 4;
  options.encode_room_s = 0.5;
  options.decode_room_rows = 128;
  return options;
}

std::vector<float> clip_of(int index) {
  return noise(0.2 + 0.3 * index, static_cast<std::uint32_t>(index + 1));
}

class RandomClient {
 public:
  RandomClient(Engine& engine, std::span<const std::string> wanted, std::uint32_t seed)
      : engine_(engine), wanted_(wanted), random_(seed) {}

  void live() {
    for (int round = 0; round < 12; ++round) {
      try {
        one_stream();
      } catch (const Error& error) {
        // Too many wait; the next round may find room.
        EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(Code::kExhausted))
            << error.what();
        ++refused;
      }
    }
  }

  int refused = 0;
  int served = 0;

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  void push(Stream& stream, std::span<const float> clip) {
    while (!clip.empty()) {
      const auto count = std::min<std::size_t>(clip.size(), 1 + random_() % 5000);
      stream.push(clip.first(count));
      clip = clip.subspan(count);
    }
  }

  void one_stream() {
    const int index = below(kClips);
    const std::vector<float> clip = clip_of(index);
    std::atomic<int> woken{0};
    Client client(engine_.open("", short_answer(), below(2) == 0 ? 0.0 : 2.0));
    Stream& stream = client.stream();
    if (below(2) == 0) stream.on_ready([&] { ++woken; });
    const std::span<const float> part = std::span(clip).first(clip.size() / 2);
    switch (below(7)) {
      case 0:
      case 1:
        push(stream, clip);
        stream.finish();
        client.listen(kForever);
        EXPECT_EQ(said(client.transcript()), wanted_[static_cast<std::size_t>(index)]);
        ++served;
        break;
      case 2:
        push(stream, part);
        stream.stop();
        client.listen(kForever);
        EXPECT_EQ(client.codes(), std::vector<std::string>{"interrupted"});
        break;
      case 3:
        push(stream, part);
        break;
      case 4:
        push(stream, clip);
        stream.finish();
        client.listen();
        break;
      case 5:
        push(stream, part);
        stream.warn({"audio_truncated", "cut", 0, 0});
        stream.fail_with(Code::kIo, "unplugged");
        client.listen(kForever);
        EXPECT_EQ(client.failure(Code::kIo), "unplugged");
        break;
      default: {
        std::thread other([&] { stream.stop(); });
        push(stream, clip);
        stream.finish();
        other.join();
        client.listen(kForever);
        EXPECT_TRUE(client.is_done());
      }
    }
    stream.stats();
  }

  Engine& engine_;
  std::span<const std::string> wanted_;
  std::minstd_rand random_;
};

TEST(EngineThreads, ClientsThatComeAndGoDisturbNobody) {
  Engine engine(threaded());
  std::vector<std::string> wanted;
  for (int i = 0; i < kClips; ++i) {
    Client client(engine.open("", short_answer(), 0), clip_of(i));
    client.listen(kForever);
    wanted.push_back(said(client.transcript()));
  }
  std::vector<RandomClient> clients;
  for (std::uint32_t i = 0; i < 6; ++i) clients.emplace_back(engine, wanted, 100 + i);
  std::vector<std::thread> threads;
  for (RandomClient& client : clients) threads.emplace_back([&client] { client.live(); });
  for (std::thread& thread : threads) thread.join();
  int served = 0;
  for (const RandomClient& client : clients) served += client.served;
  EXPECT_GT(served, 0);
  // Every slot came back.
  std::vector<Client> last;
  for (int i = 0; i < kClips; ++i)
    last.emplace_back(engine.open("", short_answer(), 0), clip_of(i));
  for (std::size_t i = 0; i < last.size(); ++i) {
    last[i].listen(kForever);
    EXPECT_EQ(said(last[i].transcript()), wanted[i]);
  }
}

TEST(EngineThreads, ShutDownLetsEveryClientGo) {
  auto engine = std::make_unique<Engine>(threaded());
  constexpr int kClients = 6;  // three run, three wait
  std::latch opened(kClients);
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<Stream> stream = engine->open("", {}, 0);
      const std::vector<float> block(100000);
      opened.count_down();
      if (i % 2 == 0) {
        // Those that wait fill their mailboxes and stand still.
        try {
          for (int n = 0; n < 50; ++n) stream->push(block);
        } catch (const Error& error) {
          EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(Code::kCancelled));
        }
      }
      while (const std::optional<Event> event = stream->next(kForever)) {
        const Failed* failed = std::get_if<Failed>(&*event);
        cancelled += failed != nullptr && failed->code == Code::kCancelled ? 1 : 0;
      }
    });
  }
  opened.wait();
  engine.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cancelled, kClients);
}

// What one thread waits for comes from another: an engine that sleeps over a freed slot hangs here.
TEST(EngineThreads, AWaitingClipIsServedWhenTheOneBeforeItLeaves) {
  EngineOptions options = threaded();
  options.slots = 1;
  Engine engine(options);
  for (int i = 0; i < 20; ++i) {
    Client first(engine.open("", {}, 0));
    Client second(engine.open("", short_answer(2), 0), clip_of(0));
    first.leave();
    second.listen(kForever);
    EXPECT_TRUE(second.is_done());
  }
}

}  // namespace
}  // namespace verbatim
