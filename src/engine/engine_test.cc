// Admission, ends and neighbours: who runs when, what is refused, and that nobody takes anybody
// along.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/trace.h"
#include "engine/small_engine.h"

namespace verbatim {
namespace {

using Codes = std::vector<std::string>;

// The order in which streams first say something and end: "a(", "a)".
std::vector<std::string> order_of(Engine& engine, std::span<Client> clients) {
  std::vector<std::string> order;
  const auto note = [&](std::size_t index, const char* what) {
    order.push_back(std::string(1, static_cast<char>('a' + index)) + what);
  };
  bool worked = true;
  while (worked) {
    worked = engine.tick();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const bool silent = clients[i].events == 0, over = clients[i].is_over();
      clients[i].listen();
      if (silent && clients[i].events > 0) note(i, "(");
      if (!over && clients[i].is_over()) note(i, ")");
    }
  }
  return order;
}

std::vector<Client> four(Engine& engine) {
  std::vector<Client> clients;
  // The longest first: it is not the work that decides.
  for (const double seconds : {2.0, 0.4, 0.4, 0.4})
    clients.emplace_back(engine.open("", short_answer(), seconds), noise(seconds));
  return clients;
}

TEST(Engine, OneSlotServesInTheOrderOfArrival) {
  Engine engine(small_options());
  std::vector<Client> clients = four(engine);
  EXPECT_EQ(order_of(engine, clients),
            (std::vector<std::string>{"a(", "a)", "b(", "b)", "c(", "c)", "d(", "d)"}));
}

TEST(Engine, TwoSlotsServeTheFirstTwoAndThenWhoComesNext) {
  EngineOptions options = small_options();
  options.slots = 2;
  Engine engine(options);
  std::vector<Client> clients;
  for (const std::int64_t tokens : {20, 4, 4, 4})
    clients.emplace_back(engine.open("", short_answer(tokens), 0.4), noise(0.4));
  EXPECT_EQ(order_of(engine, clients),
            (std::vector<std::string>{"a(", "b(", "b)", "c(", "c)", "d(", "d)", "a)"}));
  for (const Client& client : clients) EXPECT_TRUE(client.is_done());
}

// Ticks until the first client is over.
int ticks_of_the_first(Engine& engine, std::span<Client> clients) {
  int ticks = 0;
  while (!clients[0].is_over()) {
    engine.tick();
    ++ticks;
    for (Client& client : clients) client.listen();
  }
  return ticks;
}

TEST(Engine, ALongPromptHoldsUpNobodysNextToken) {
  EngineOptions options = small_options();
  options.slots = 2;
  options.encode_room_s = 1;
  options.decode_room_rows = 10;
  options.max_context = 1024;
  constexpr int kTokens = 40;
  std::vector<Client> alone;
  int alone_ticks = 0;
  {
    Engine engine(options);
    alone.emplace_back(engine.open("", short_answer(kTokens), 0.4), noise(0.4));
    alone_ticks = ticks_of_the_first(engine, alone);
  }
  Engine engine(options);
  // The long clip comes first and plans first; its prompt takes more ticks than the other's answer.
  Client lengthy(engine.open("", short_answer(1), 60), noise(60));
  std::vector<Client> both;
  both.emplace_back(engine.open("", short_answer(kTokens), 0.4), noise(0.4));
  both.push_back(std::move(lengthy));
  EXPECT_LE(ticks_of_the_first(engine, both), 2 * alone_ticks);
  EXPECT_FALSE(both[1].is_over()) << "the long one was still at its prompt";
}

TEST(Engine, TheLineHasALimitAndFreeSlotsAreNoPartOfIt) {
  EngineOptions options = small_options();
  options.slots = 2;
  options.waiting = 1;
  Engine engine(options);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(engine.open("", {}, 0));
  const auto one_more = [&] { streams.push_back(engine.open("", {}, 0)); };
  EXPECT_TRUE(contains(message_of(Code::kExhausted, one_more), "1 sessions wait already"));
  engine.tick();
  EXPECT_TRUE(contains(message_of(Code::kExhausted, one_more), "1 sessions wait already"));
  streams.pop_back();  // who leaves the line makes room at once
  one_more();
  message_of(Code::kExhausted, one_more);
  streams.erase(streams.begin());  // who leaves a slot makes room by the next tick
  engine.tick();
  engine.tick();
  one_more();
}

TEST(Engine, NobodyWaitsWhereNobodyMay) {
  EngineOptions options = small_options();
  options.waiting = 0;
  Engine engine(options);
  Client client(engine.open("", short_answer(), 0.4), noise(0.4));
  message_of(Code::kExhausted, [&] { engine.open("", {}, 0); });
  run(engine);
  client.listen();
  EXPECT_TRUE(client.is_done());
  engine.open("", {}, 0);
}

TEST(Engine, AnUnknownModelIsNamedWithTheOneThatIsServed) {
  Engine engine(small_options());
  const std::string message = message_of(Code::kNotFound, [&] { engine.open("whisper-1", {}, 0); });
  EXPECT_TRUE(contains(message, "'whisper-1'")) << message;
  EXPECT_TRUE(contains(message, "'orig-segments'")) << message;
  EXPECT_NE(engine.open("orig-segments", {}, 0), nullptr);
  EXPECT_EQ(engine.name(), "orig-segments");
  EXPECT_EQ(engine.family(), "vibevoice");
  EXPECT_EQ(engine.sample_rate_hz(), 24000);
  EXPECT_FALSE(engine.is_live());
}

TEST(Engine, AClipLongerThanTheContextIsRefusedWithTheNumbers) {
  Engine engine(small_options());
  const std::string message = message_of(Code::kExhausted, [&] { engine.open("", {}, 3600.5); });
  EXPECT_TRUE(contains(message, "3600.5 s")) << message;
  EXPECT_TRUE(contains(message, "512 are there")) << message;
  EXPECT_TRUE(contains(message, "--max-context")) << message;
  EXPECT_TRUE(contains(message, "made for 4096")) << message;
  message_of(Code::kExhausted, [&] { engine.open("", {}, 1e18); });
  // A clip with room for a short answer is let in.
  EXPECT_NE(engine.open("", {}, 30), nullptr);
}

TEST(Engine, AClipThatTurnsOutTooLongFailsAloneAndWithTheNumbers) {
  EngineOptions options = small_options();
  options.slots = 2;
  options.max_context = 192;
  Engine engine(options);
  Client liar(engine.open("", short_answer(), 0), noise(20));
  Client honest(engine.open("", short_answer(), 0.4), noise(0.4));
  run(engine);
  liar.listen();
  honest.listen();
  const std::string message = liar.failure(Code::kExhausted);
  EXPECT_TRUE(contains(message, "20.00 s")) << message;
  EXPECT_TRUE(contains(message, "192 are there")) << message;
  EXPECT_TRUE(honest.is_done());
}

TEST(Engine, WhoLeavesFreesTheSlotForTheNextInLine) {
  Engine engine(small_options());
  // Promised nothing, both take all the pages there are.
  Client first(engine.open("", short_answer(), 0), noise(1));
  Client second(engine.open("", short_answer(), 0), noise(0.4));
  engine.tick();
  first.leave();
  engine.tick();
  EXPECT_TRUE(engine.tick());
  second.listen();
  EXPECT_GT(second.events, 0);
}

// A loop that sleeps when nothing was done must not sleep over this.
TEST(Engine, AFreedSlotIsWork) {
  Engine engine(small_options());
  Client first(engine.open("", {}, 0));
  Client second(engine.open("", short_answer(), 0), noise(0.4));
  run(engine);
  first.leave();
  run(engine);
  second.listen();
  EXPECT_TRUE(second.is_done());
}

TEST(Engine, WhoLeavesTheLineIsNeverServed) {
  Engine engine(small_options());
  Client first(engine.open("", short_answer(), 0.4), noise(0.4));
  Client second(engine.open("", short_answer(), 0.4), noise(0.4));
  Client third(engine.open("", short_answer(), 0.4), noise(0.4));
  second.leave();
  run(engine);
  third.listen();
  EXPECT_TRUE(third.is_done());
  EXPECT_FALSE(engine.tick());
}

TEST(Engine, AFailingSourceEndsItsOwnStreamAlone) {
  EngineOptions options = small_options();
  options.slots = 2;
  Engine alone(options);
  Client wanted(alone.open("", short_answer(), 1), noise(1));
  run(alone);
  wanted.listen();

  Engine engine(options);
  Client broken(engine.open("", short_answer(), 1));
  Client whole(engine.open("", short_answer(), 1), noise(1));
  broken.stream().push(noise(0.5));
  engine.tick();
  broken.stream().fail_with(Code::kIo, "the microphone is gone");
  run(engine);
  broken.listen();
  whole.listen();
  EXPECT_EQ(broken.failure(Code::kIo), "the microphone is gone");
  EXPECT_EQ(said(whole.transcript()), said(wanted.transcript()));
  message_of(Code::kIo, [&] { broken.stream().push(noise(0.1)); });
}

TEST(Engine, AClipWithoutASampleFailsAndNamesIt) {
  Engine engine(small_options());
  Client empty(engine.open("", short_answer(), 0), {});
  Client next(engine.open("", short_answer(), 0.4), noise(0.4));
  run(engine);
  empty.listen();
  next.listen();
  EXPECT_TRUE(contains(empty.failure(Code::kInvalidArgument), "holds no audio"));
  EXPECT_TRUE(next.is_done());
}

TEST(Engine, AFullSpoolFolderEndsItsOwnStreamAlone) {
  EngineOptions options = small_options();
  options.slots = 2;
  options.spool_folder = "no/such/folder";
  Engine engine(options);
  Client long_one(engine.open("", short_answer(), 0), noise(15));  // more than stays in memory
  Client short_one(engine.open("", short_answer(), 0), noise(0.4));
  run(engine);
  long_one.listen();
  short_one.listen();
  EXPECT_TRUE(contains(long_one.failure(Code::kIo), "no/such/folder"));
  EXPECT_TRUE(short_one.is_done());
}

TEST(Engine, StoppingDeliversWhatIsThereInEveryPhase) {
  EngineOptions options = small_options(kNanoFolder);
  options.encode_room_s = 1;
  options.decode_room_rows = 64;
  const std::vector<float> clip = nano_sample("commands-joe.wav");
  Engine engine(options);
  // Before the first tick, while it collects, encodes, prefills and decodes.
  for (const int ticks : {0, 1, 3, 6, 40}) {
    for (const bool finished : {false, true}) {
      Client client(engine.open("", {}, 0));
      client.stream().push(clip);
      if (finished) client.stream().finish();
      for (int i = 0; i < ticks; ++i) engine.tick();
      client.stream().stop();
      run(engine);
      client.listen();
      ASSERT_TRUE(client.is_done()) << ticks;
      EXPECT_EQ(client.codes(), Codes{"interrupted"}) << ticks;
      EXPECT_EQ(client.warned, Codes{"interrupted"}) << ticks;
      if (finished && ticks == 40) {
        ASSERT_GE(client.transcript().segments.size(), 1U);
        EXPECT_EQ(client.transcript().segments[0].text, "open door");
      }
    }
  }
}

TEST(Engine, StoppingInTheLineDeliversOnceItsTurnComes) {
  Engine engine(small_options());
  Client first(engine.open("", short_answer(), 0.4), noise(0.4));
  Client second(engine.open("", short_answer(), 0.4), noise(0.4));
  second.stream().stop();
  run(engine);
  second.listen();
  EXPECT_EQ(second.codes(), Codes{"interrupted"});
}

TEST(Engine, StoppingWhatHasEndedChangesNothing) {
  Engine engine(small_options());
  Client client(engine.open("", short_answer(), 0.4), noise(0.4));
  run(engine);
  client.stream().stop();
  client.stream().finish();
  client.stream().push(noise(0.1));
  client.stream().fail_with(Code::kIo, "late");
  run(engine);
  client.listen();
  EXPECT_EQ(client.codes(), Codes{"truncated"});
}

TEST(Engine, WarningsAboutTheAudioComeAtOnceAndAgainInTheTranscript) {
  Engine engine(small_options());
  Client client(engine.open("", short_answer(), 0.4));
  client.stream().push(noise(0.4));
  client.stream().warn({"audio_truncated", "the file ends early", 0, 0.4});
  engine.tick();
  client.listen();
  EXPECT_EQ(client.warned, Codes{"audio_truncated"});
  client.stream().finish();
  run(engine);
  client.listen();
  EXPECT_EQ(client.codes(), (Codes{"audio_truncated", "truncated"}));
  EXPECT_EQ(client.transcript().warnings[0].message, "the file ends early");
  EXPECT_EQ(client.warned, (Codes{"audio_truncated", "truncated"}));
}

TEST(Engine, ShutDownEndsEveryStream) {
  EngineOptions options = small_options();
  for (const bool own_thread : {false, true}) {
    options.own_thread = own_thread;
    auto engine = std::make_unique<Engine>(options);
    Client active(engine->open("", {}, 0));
    Client waiting(engine->open("", {}, 0));
    active.stream().push(noise(0.4));
    waiting.stream().push(noise(0.4));
    if (!own_thread) engine->tick();
    engine.reset();
    for (Client* client : {&active, &waiting}) {
      client->listen(std::chrono::hours(1));
      EXPECT_TRUE(contains(client->failure(Code::kCancelled), "shut down"));
      message_of(Code::kCancelled, [&] { client->stream().push(noise(0.1)); });
      client->stream().finish();
      client->stream().stop();
    }
  }
}

TEST(Engine, ManyAtOnceSayWhatEachSaysAlone) {
  EngineOptions options = small_options();
  options.slots = 8;
  options.encode_room_s = 1;
  options.decode_room_rows = 100;
  std::vector<std::string> wanted, found;
  Engine engine(options);
  for (int i = 0; i < 8; ++i) {
    SessionOptions ask = short_answer(4 + i);
    ask.context = std::string(static_cast<std::size_t>(20 * i), 'a');
    Client client(engine.open("", ask, 0), noise(0.2 + 0.3 * i, static_cast<std::uint32_t>(i)));
    run(engine);
    client.listen();
    wanted.push_back(said(client.transcript()));
  }
  std::vector<Client> clients;
  for (int i = 0; i < 8; ++i) {
    SessionOptions ask = short_answer(4 + i);
    ask.context = std::string(static_cast<std::size_t>(20 * i), 'a');
    clients.emplace_back(engine.open("", ask, 0),
                         noise(0.2 + 0.3 * i, static_cast<std::uint32_t>(i)));
  }
  run(engine);
  for (Client& client : clients) {
    client.listen();
    found.push_back(said(client.transcript()));
  }
  EXPECT_EQ(found, wanted);
}

TEST(Engine, EveryOpOfTheBestTableEqualsTheScalarOne) {
  EngineOptions options = small_options(kNanoFolder);
  options.checked = true;
  Engine engine(options);
  std::vector<float> clip = nano_sample("unseen-voice-rms.wav");
  clip.resize(50001);  // the scalar table takes its time
  Client client(engine.open("", short_answer(28), 0), clip);
  run(engine);
  client.listen();
  EXPECT_EQ(client.codes(), Codes{"truncated"});
  EXPECT_TRUE(client.transcript().text.starts_with("call november")) << client.transcript().text;
}

TEST(Engine, ProfilesNameOpsAndWeightsAndCountTheirCalls) {
  EngineOptions options = small_options();
  options.profile = true;
  Engine engine(options);
  EXPECT_EQ(engine.profile().size(), 0U);
  Client client(engine.open("", short_answer(8), 0.4), noise(0.4));
  run(engine);
  const std::vector<ProfileRow> rows = engine.profile();
  const auto row = [&](std::string_view op, std::string_view name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const ProfileRow& each) {
      return each.op == op && each.name == name;
    });
    EXPECT_NE(found, rows.end()) << op << " " << name;
    return found == rows.end() ? ProfileRow{} : *found;
  };
  // Two layers, one prompt pass and seven steps.
  EXPECT_EQ(row("linear", "model.language_model.layers.*.mlp.down_proj").calls, 16);
  EXPECT_EQ(row("attention", "").calls, 16);
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_GE(rows[i - 1].seconds, rows[i].seconds) << "the slowest first";
  EXPECT_EQ(Engine(small_options()).profile().size(), 0U);
}

TEST(Engine, StatsSayWhereTheTimeWent) {
  Engine engine(small_options());
  Client client(engine.open("", short_answer(8), 1), noise(1));
  run(engine);
  client.listen();
  const SessionStats stats = client.stream().stats();
  EXPECT_GT(stats.encode_s, 0);
  EXPECT_GT(stats.prefill_s, 0);
  EXPECT_GT(stats.decode_s, 0);
  EXPECT_EQ(stats.audio_frames, 8);  // 7.5 a second, the last one cut
  EXPECT_EQ(stats.output_tokens, client.transcript().usage.output_tokens);
  EXPECT_EQ(stats.prompt_tokens, client.transcript().usage.prompt_tokens);
}

TEST(Engine, WakesItsClientsAsTheyAsked) {
  Engine engine(small_options());
  Client client(engine.open("", short_answer(), 0.4));
  int woken = 0, other = 0;
  client.stream().on_ready([&] { ++woken; });
  client.stream().push(noise(0.4));
  client.stream().finish();
  engine.tick();
  EXPECT_GT(woken, 0);
  const int before = woken;
  client.stream().on_ready([&] { ++other; });
  run(engine);
  EXPECT_EQ(woken, before);
  EXPECT_GT(other, 0);
}

TEST(Engine, WithNothingToDoATickSaysSo) {
  Engine engine(small_options());
  EXPECT_FALSE(engine.tick());
  Client client(engine.open("", {}, 0));
  engine.tick();
  EXPECT_FALSE(engine.tick());
}

TEST(Engine, WhatCannotBeOpenedIsNamed) {
  struct Wrong {
    Code code;
    void (*change)(EngineOptions&);
    const char* named;
  };
  const Wrong all[] = {
      {Code::kNotFound, [](EngineOptions& o) { o.model = "no/such/model"; }, "no/such/model"},
      {Code::kNotFound, [](EngineOptions& o) { o.device = "tpu"; }, "tpu"},
      {Code::kInvalidArgument, [](EngineOptions& o) { o.kv = "f8"; }, "f8"},
      {Code::kInvalidArgument, [](EngineOptions& o) { o.isa = "avx1024"; }, "avx1024"},
      {Code::kNotFound, [](EngineOptions& o) { o.tokenizer = "no/such.json"; }, "no/such.json"},
      {Code::kExhausted, [](EngineOptions& o) { o.memory_limit_bytes = 1 << 20; }, "1.0 MiB"},
      {Code::kExhausted, [](EngineOptions& o) { o.max_context = std::int64_t{1} << 62; },
       "4611686018427387904"},
  };
  for (const Wrong& wrong : all) {
    EngineOptions options = small_options();
    wrong.change(options);
    const std::string message = message_of(wrong.code, [&] { Engine engine(options); });
    EXPECT_TRUE(contains(message, wrong.named)) << message;
  }
}

}  // namespace
}  // namespace verbatim
