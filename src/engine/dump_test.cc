// What a dump holds: names, phases, order, types, and nothing that differs between equal runs.
#include "engine/dump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "device/trace.h"
#include "engine/small_engine.h"

namespace verbatim {
namespace {

// A dump that was written and read back.
class Dumped {
 public:
  explicit Dumped(const std::string& path)
      : file_(path), tensors_(containers().front()->parse(file_.bytes(), path)) {}
  const RawTensor& operator[](std::string_view name) const {
    for (const RawTensor& raw : tensors_) {
      if (raw.name == name) return raw;
    }
    ADD_FAILURE() << "no tensor " << name;
    return tensors_.front();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const RawTensor& raw : tensors_) all.push_back(raw.name);
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  MappedFile file_;
  std::vector<RawTensor> tensors_;
};

template <typename T>
std::vector<T> values(const RawTensor& raw) {
  std::vector<T> all(raw.bytes.size() / sizeof(T));
  std::memcpy(all.data(), raw.bytes.data(), all.size() * sizeof(T));
  return all;
}
using Shape = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

template <typename T>
void show(Dump& dump, const char* name, std::vector<T> data, std::int64_t cols,
          std::span<const Span> spans) {
  Tensor rows;
  rows.data = std::as_writable_bytes(std::span(data)).data();
  rows.rows = static_cast<std::int64_t>(data.size()) / cols;
  rows.cols = cols;
  rows.stride = cols;
  rows.dtype = std::is_same_v<T, float> ? DType::kF32 : DType::kI32;
  dump.tap()->see(name, rows, Spans{spans});
}

Span span_at(std::int32_t first, std::int32_t rows, std::int64_t position, const char* phase = "") {
  Span made;
  made.first_row = first;
  made.rows = rows;
  made.position = position;
  made.phase = phase;
  return made;
}

TEST(Dump, RowsOfStepsHaveANameOfTheirOwn) {
  EXPECT_EQ(dump_name("x", ""), "x");
  EXPECT_EQ(dump_name("x", "step"), "step.x");
  EXPECT_EQ(dump_name("dec.3.ctx", "step"), "step.dec.3.ctx");
  EXPECT_EQ(dump_name("step.norm", ""), "step.norm");
  EXPECT_EQ(dump_name("step.norm", "step"), "step.norm");
  EXPECT_EQ(dump_name("token", "step"), "token");
  EXPECT_EQ(dump_name("stepper", "step"), "step.stepper");
}

TEST(Dump, PiecesAreJoinedByPositionAndPhase) {
  ScratchFolder folder;
  const std::unique_ptr<Dump> dump = Dump::make(folder.path("d.safetensors"), "");
  const Span later[] = {span_at(0, 1, 3)};
  const Span both[] = {span_at(2, 2, 0), span_at(0, 1, 2), span_at(1, 1, 9, "step")};
  show<float>(*dump, "x", {7, 8}, 2, later);
  show<float>(*dump, "x", {5, 6, 50, 60, 1, 2, 3, 4}, 2, both);
  dump->write();
  const Dumped found(folder.path("d.safetensors"));
  EXPECT_EQ(found.names(), (Names{"step.x", "x"}));
  EXPECT_EQ(values<float>(found["x"]), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(found["x"].shape, (Shape{4, 2}));
  EXPECT_EQ(values<float>(found["step.x"]), (std::vector<float>{50, 60}));
}

TEST(Dump, TokensAreWideAndFlatAndRowsMayBeStrided) {
  ScratchFolder folder;
  const std::unique_ptr<Dump> dump = Dump::make(folder.path("d.safetensors"), "");
  for (std::int32_t i = 0; i < 3; ++i) {
    const Span at[] = {span_at(0, 1, i)};
    show<std::int32_t>(*dump, "token", {151643 + i}, 1, at);
  }
  std::vector<float> wide{1, 2, -1, -1, 3, 4, -1, -1};
  Tensor strided;
  strided.data = std::as_writable_bytes(std::span(wide)).data();
  strided.rows = 2;
  strided.cols = 2;
  strided.stride = 4;
  const Span all[] = {span_at(0, 2, 0)};
  dump->tap()->see("x", strided, Spans{all});
  dump->write();
  const Dumped found(folder.path("d.safetensors"));
  EXPECT_EQ(found["token"].type, RawType::kI64);
  EXPECT_EQ(found["token"].shape, (Shape{3}));
  EXPECT_EQ(values<std::int64_t>(found["token"]),
            (std::vector<std::int64_t>{151643, 151644, 151645}));
  EXPECT_EQ(values<float>(found["x"]), (std::vector<float>{1, 2, 3, 4}));
}

// Names that a filter keeps, of a prompt pass and of a step.
Names kept(const std::string& filter) {
  ScratchFolder folder;
  const std::unique_ptr<Dump> dump = Dump::make(folder.path("d.safetensors"), filter);
  const Span spans[] = {span_at(0, 1, 0), span_at(1, 1, 1, "step")};
  for (const char* name : {"x", "dec.0.q", "dec.0.q_rope", "dec.1.q", "dec.10.q", "enc.a.mean"}) {
    if (dump->tap()->wants(name)) show<float>(*dump, name, {1, 2}, 1, spans);
  }
  dump->write();
  return Dumped(folder.path("d.safetensors")).names();
}

TEST(Dump, FiltersAreGlobsOverTheNamesAsTheyAreWritten) {
  EXPECT_EQ(kept("").size(), 12U);
  EXPECT_EQ(kept("*").size(), 12U);
  EXPECT_EQ(kept("x"), Names{"x"});
  EXPECT_EQ(kept("step.x"), Names{"step.x"});
  EXPECT_EQ(kept("*x"), (Names{"step.x", "x"}));
  EXPECT_EQ(kept("dec.0.*"), (Names{"dec.0.q", "dec.0.q_rope"}));
  EXPECT_EQ(kept("step.dec.0.*"), (Names{"step.dec.0.q", "step.dec.0.q_rope"}));
  EXPECT_EQ(kept("dec.?.q"), (Names{"dec.0.q", "dec.1.q"}));
  EXPECT_EQ(kept("dec.*.q"), (Names{"dec.0.q", "dec.1.q", "dec.10.q"}));
  EXPECT_EQ(kept("*.a.*"), (Names{"enc.a.mean", "step.enc.a.mean"}));
  EXPECT_EQ(kept("dec"), Names{});
  EXPECT_EQ(kept("?"), Names{"x"});
  EXPECT_EQ(kept("enc.a.mean*"), Names{"enc.a.mean"});
}

TEST(Dump, ManyStarsCostNoMoreThanOne) {
  std::string filter;
  for (int i = 0; i < 40; ++i) filter += "*?";
  EXPECT_EQ(kept(filter + "never"), Names{});
}

TEST(Dump, APathThatCannotBeWrittenIsNamed) {
  const std::unique_ptr<Dump> dump = Dump::make("no/such/folder/d.safetensors", "");
  EXPECT_TRUE(contains(message_of(Code::kIo, [&] { dump->write(); }), "no/such/folder"));
}

std::string dump_of(const ScratchFolder& folder, const char* name, const char* filter,
                    double room_s = 4, std::int32_t rows = 512) {
  const std::unique_ptr<Dump> dump = Dump::make(folder.path(name), filter);
  EngineOptions options = small_options();
  options.tap = dump->tap();
  options.encode_room_s = room_s;
  options.decode_room_rows = rows;
  Engine engine(options);
  Client client(engine.open("", short_answer(5), 0), noise(0.5));
  run(engine);
  dump->write();
  return folder.path(name);
}

TEST(Dump, HoldsEveryNameOfARecordingInItsShape) {
  ScratchFolder folder;
  const Dumped found(dump_of(folder, "d.safetensors", ""));
  const std::int64_t samples = 12000, frames = 4, hidden = 64, vocab = 384;
  const std::int64_t tokens = found["token"].shape[0];
  const std::int64_t prompt = found["x"].shape[0];
  EXPECT_EQ(found["token"].type, RawType::kI64);
  EXPECT_LE(tokens, 5);
  EXPECT_EQ(found["pcm"].shape, (Shape{samples}));
  EXPECT_EQ(found["enc.a.stem"].shape, (Shape{samples, 2}));
  EXPECT_EQ(found["enc.s.stage.1.down"].shape, (Shape{samples / 10, 4}));
  EXPECT_EQ(found["enc.s.stage.4.block.1.out"].shape, (Shape{frames, 32}));
  EXPECT_EQ(found["enc.a.mean"].shape, (Shape{frames, 8}));
  EXPECT_EQ(found["conn.s.fc1"].shape, (Shape{frames, hidden}));
  EXPECT_EQ(found["speech"].shape, (Shape{frames, hidden}));
  EXPECT_EQ(found["x"].shape, (Shape{prompt, hidden}));
  EXPECT_EQ(found["logits"].shape, (Shape{vocab}));
  EXPECT_EQ(found["step.norm"].shape, (Shape{tokens, hidden}));
  EXPECT_EQ(found["step.logits"].shape, (Shape{tokens, vocab}));
  EXPECT_EQ(found["step.x"].shape, (Shape{tokens - 1, hidden}));
  EXPECT_EQ(found["dec.norm"].shape, (Shape{prompt, hidden}));
  for (const char* name : {"norm1", "q", "k", "v", "q_rope", "k_rope", "ctx", "attn_out", "res1",
                           "norm2", "gate", "up", "act", "down", "out"}) {
    for (const char* layer : {"dec.0.", "dec.1."}) {
      const std::string full = std::string(layer) + name;
      EXPECT_EQ(found[full].shape[0], prompt) << full;
      EXPECT_EQ(found["step." + full].shape[0], tokens - 1) << full;
    }
  }
}

TEST(Dump, TheFirstStepIsTheLastRowOfThePrompt) {
  ScratchFolder folder;
  const Dumped found(dump_of(folder, "d.safetensors", ""));
  const std::vector<float> logits = values<float>(found["logits"]);
  const std::vector<float> steps = values<float>(found["step.logits"]);
  EXPECT_TRUE(std::equal(logits.begin(), logits.end(), steps.begin()));
  const std::vector<float> all = values<float>(found["dec.norm"]);
  const std::vector<float> norms = values<float>(found["step.norm"]);
  EXPECT_TRUE(std::equal(all.end() - 64, all.end(), norms.begin()));
  // And what decided is what was said.
  const std::vector<std::int64_t> tokens = values<std::int64_t>(found["token"]);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto row = steps.begin() + static_cast<std::ptrdiff_t>(i * 384);
    EXPECT_EQ(std::max_element(row, row + 384) - row, tokens[i]);
  }
}

TEST(Dump, EqualRunsGiveEqualBytesWhateverTheBudgets) {
  ScratchFolder folder;
  const auto bytes = [](const std::string& path) { return read_file(path, std::size_t{1} << 28); };
  const std::string first = bytes(dump_of(folder, "a", ""));
  EXPECT_EQ(bytes(dump_of(folder, "b", "")), first);
  EXPECT_EQ(bytes(dump_of(folder, "c", "", 0.1)), first);
  EXPECT_EQ(bytes(dump_of(folder, "d", "", 4, 33)), first);
}

TEST(Dump, AFilterChangesNoByteOfWhatItKeeps) {
  ScratchFolder folder;
  const Dumped all(dump_of(folder, "all", ""));
  const Dumped few(dump_of(folder, "few", "*dec.1.down"));
  EXPECT_EQ(few.names(), (Names{"dec.1.down", "step.dec.1.down"}));
  EXPECT_EQ(values<float>(few["dec.1.down"]), values<float>(all["dec.1.down"]));
  EXPECT_EQ(values<float>(few["step.dec.1.down"]), values<float>(all["step.dec.1.down"]));
}

}  // namespace
}  // namespace verbatim
