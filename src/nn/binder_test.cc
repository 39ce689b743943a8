// What a binder finds it places as the file has it; what is missing, wrong or too much it names.
#include "nn/binder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/interrupt.h"
#include "device/small_run.h"
#include "nn/test_checkpoint.h"

namespace verbatim {
namespace {

class BinderTest : public testing::Test {
 protected:
  BinderTest() : device_(cpu_with(1)) {}
  std::vector<float> floats(const Tensor& x) const {
    std::vector<float> made(static_cast<std::size_t>(x.rows * x.cols));
    device_->download(std::as_writable_bytes(std::span(made)), x);
    return made;
  }
  // The matrix that a projection multiplies by, column after column.
  std::vector<float> matrix(const Linear& w) const {
    const std::int32_t in = w.weight->in_features;
    std::vector<float> identity(static_cast<std::size_t>(in) * static_cast<std::size_t>(in));
    for (std::size_t i = 0; i < static_cast<std::size_t>(in); ++i)
      identity[i * (static_cast<std::size_t>(in) + 1)] = 1;
    const ArenaScope scratch(device_->arena());
    return floats(device_->linear(host_rows(identity, in), {w.weight, {}}));
  }
  // The error that binding ends with.
  template <typename Body>
  std::string refusal(Code code, const TestCheckpoint& file, const Body& body) const {
    const Checkpoint checkpoint = file.open();
    WeightStore store;
    const Binder binder(checkpoint, *device_, store);
    return message_of(code, [&] {
      body(binder);
      binder.finish();
    });
  }
  std::unique_ptr<Device> device_;
};

TEST_F(BinderTest, ScopesNestAsTheModulesDo) {
  TestCheckpoint file;
  file.add("model.layers.3.self_attn.q_proj.bias", {4});
  const Checkpoint checkpoint = file.open();
  WeightStore store;
  const Binder root(checkpoint, *device_, store);
  EXPECT_EQ(root.name("lm_head"), "lm_head");
  const Binder attn = root.at("model").at("layers", 3).at("self_attn");
  EXPECT_EQ(attn.name("q_proj"), "model.layers.3.self_attn.q_proj");
  EXPECT_EQ(attn.name(""), "model.layers.3.self_attn");
  EXPECT_EQ(root.at("").at("model").name("x"), "model.x");
  EXPECT_TRUE(attn.has("q_proj.bias"));
  EXPECT_FALSE(attn.has("q_proj.weight"));
  EXPECT_FALSE(attn.has("q_proj"));
}

TEST_F(BinderTest, ProjectionsAndVectorsHoldTheFilesValuesInEveryFormat) {
  for (const RawType type : {RawType::kF32, RawType::kF16, RawType::kBF16}) {
    const WeightFormat& format = type == RawType::kF32   ? kFormatF32
                                 : type == RawType::kF16 ? kFormatF16
                                                         : kFormatBF16;
    const std::vector<float> weight = TestValues(1).uniforms(6 * 5);
    const std::vector<float> bias = TestValues(2).uniforms(6);
    TestCheckpoint file;
    file.add("a.fc.weight", {6, 5}, weight, type);
    file.add("a.fc.bias", {6}, bias, type);
    const Checkpoint checkpoint = file.open();
    WeightStore store;
    const Binder binder(checkpoint, *device_, store);
    const Linear made = binder.at("a").linear("fc", 6, 5, true);
    EXPECT_EQ(made.weight->name, "a.fc");
    EXPECT_EQ(made.weight->format, &format);
    const std::vector<float> kept = rounded(format, weight);
    const std::vector<float> found = matrix(made);
    for (std::size_t o = 0; o < 6; ++o) {
      for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(found[i * 6 + o], kept[o * 5 + i]);
    }
    EXPECT_EQ(floats(made.bias), rounded(format, bias));
    binder.finish();
    EXPECT_EQ(binder.parameters(), 36);
    EXPECT_EQ(binder.formats(), std::vector<std::string>{format.name});
  }
}

TEST_F(BinderTest, ATableThatIsAlsoTheHeadIsCountedOnce) {
  TestCheckpoint file;
  file.add("embed_tokens.weight", {7, 4}, RawType::kF16);
  file.add("norm.weight", {4}, RawType::kBF16);
  file.add("lm_head.weight", {7, 4}, RawType::kF32);
  const Checkpoint checkpoint = file.open();
  WeightStore store;
  const Binder binder(checkpoint, *device_, store);
  const DeviceWeight* table = binder.table("embed_tokens", 7, 4, Use::kBoth);
  EXPECT_EQ(table->name, "embed_tokens");
  binder.table("embed_tokens", 7, 4, Use::kTable);
  binder.vector("norm.weight", 4);
  EXPECT_EQ(binder.parameters(), 32);
  EXPECT_EQ(binder.formats(), std::vector<std::string>{"f16"});
  binder.linear("lm_head", 7, 4);
  EXPECT_EQ(binder.formats(), (std::vector<std::string>{"f16", "f32"}));
  binder.finish();
  EXPECT_EQ(store.weights.size(), 3U);
  EXPECT_EQ(store.vectors.size(), 1U);
}

// y[t, o] by the file's layout: sum over input channel c and tap j of w[o, c, j] x[t s - P + j, c].
TEST_F(BinderTest, ConvolutionsAreRepackedTapsFirst) {
  struct Case {
    std::int32_t out, in, kernel, stride, groups;
  };
  for (const RawType type : {RawType::kF32, RawType::kF16, RawType::kBF16}) {
    for (const Case& c : {Case{6, 3, 4, 2, 1}, Case{5, 1, 7, 1, 1}, Case{4, 4, 3, 1, 4}}) {
      const std::int32_t inside = c.in / c.groups;
      // Small whole numbers: exact in every format and in every order of sums.
      std::vector<float> weight(static_cast<std::size_t>(c.out * inside * c.kernel));
      for (std::size_t i = 0; i < weight.size(); ++i)
        weight[i] = static_cast<float>((i * 37) % 23) - 11;
      std::vector<float> bias(static_cast<std::size_t>(c.out));
      for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) - 2;
      TestCheckpoint file;
      file.add("down.conv.weight", {c.out, inside, c.kernel}, weight, type);
      file.add("down.conv.bias", {c.out}, bias, type);
      const Checkpoint checkpoint = file.open();
      WeightStore store;
      const Binder binder(checkpoint, *device_, store);
      std::int64_t state = 100;
      const Conv1d conv =
          binder.at("down").conv("conv", c.out, c.in, c.kernel, c.stride, c.groups, state);
      EXPECT_EQ(conv.state, 100);
      EXPECT_EQ(state, 100 + (c.kernel - c.stride) * c.in);
      EXPECT_EQ(conv.linear.weight->name, "down.conv");
      binder.finish();

      std::vector<float> x(static_cast<std::size_t>(12 * c.in));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 5) % 7) - 3;
      const Span span{.rows = 12, .last = true};
      const ArenaScope scratch(device_->arena());
      const std::vector<float> y =
          floats(device_->conv1d(host_rows(x, 12), device_->spans(std::span(&span, 1)), conv));
      for (std::int32_t t = 0; t < 12 / c.stride; ++t) {
        for (std::int32_t o = 0; o < c.out; ++o) {
          float sum = bias[static_cast<std::size_t>(o)];
          for (std::int32_t i = 0; i < inside; ++i) {
            for (std::int32_t j = 0; j < c.kernel; ++j) {
              const std::int32_t row = t * c.stride - (c.kernel - c.stride) + j;
              if (row < 0) continue;
              const std::int32_t channel = c.groups == 1 ? i : o;
              sum += weight[static_cast<std::size_t>((o * inside + i) * c.kernel + j)] *
                     x[static_cast<std::size_t>(row * c.in + channel)];
            }
          }
          EXPECT_EQ(y[static_cast<std::size_t>(t * c.out + o)], sum)
              << "frame " << t << " of " << o;
        }
      }
    }
  }
}

TEST_F(BinderTest, WhatIsMissingIsNamed) {
  TestCheckpoint file;
  file.add("a.fc.weight", {6, 5});
  file.add("a.conv.weight", {4, 2, 3});
  const auto missing = [&](const auto& body) { return refusal(Code::kNotFound, file, body); };
  std::int64_t state = 0;
  const std::pair<std::string, std::string> cases[] = {
      {missing([](const Binder& b) { b.at("a").linear("fc2", 6, 5); }), "a.fc2.weight"},
      {missing([](const Binder& b) { b.at("a").linear("fc", 6, 5, true); }), "a.fc.bias"},
      {missing([](const Binder& b) { b.at("a").vector("norm.weight", 6); }), "a.norm.weight"},
      {missing([](const Binder& b) { b.table("embed_tokens", 6, 5, Use::kTable); }),
       "embed_tokens.weight"},
      {missing([&](const Binder& b) { b.at("b").conv("conv", 4, 2, 3, 1, 1, state); }),
       "b.conv.weight"},
      {missing([&](const Binder& b) { b.at("a").conv("conv", 4, 2, 3, 1, 1, state); }),
       "a.conv.bias"}};
  for (const auto& [said, name] : cases) EXPECT_EQ(said.find(name + ":"), 0U) << said;
}

TEST_F(BinderTest, AWrongShapeIsNamedWithBothShapesAndTheFile) {
  TestCheckpoint file;
  file.add("fc.weight", {6, 5}, RawType::kBF16);
  file.add("fc.bias", {6});
  file.add("conv.weight", {4, 2, 3});
  file.add("conv.bias", {4});
  const auto wrong = [&](const auto& body) { return refusal(Code::kCorrupt, file, body); };
  std::int64_t state = 0;
  EXPECT_EQ(wrong([](const Binder& b) { b.linear("fc", 5, 6); }),
            "fc.weight: expected [5, 6], found [6, 5] in model.safetensors");
  EXPECT_EQ(wrong([](const Binder& b) { b.table("fc", 30, 1, Use::kTable); }),
            "fc.weight: expected [30, 1], found [6, 5] in model.safetensors");
  EXPECT_EQ(wrong([](const Binder& b) { b.vector("fc.bias", 7); }),
            "fc.bias: expected [7], found [6] in model.safetensors");
  EXPECT_EQ(wrong([&](const Binder& b) { b.conv("conv", 4, 3, 2, 1, 1, state); }),
            "conv.weight: expected [4, 3, 2], found [4, 2, 3] in model.safetensors");
  EXPECT_EQ(wrong([&](const Binder& b) { b.conv("conv", 4, 4, 3, 1, 4, state); }),
            "conv.weight: expected [4, 1, 3], found [4, 2, 3] in model.safetensors");
}

TEST_F(BinderTest, AWrongTypeIsNamed) {
  TestCheckpoint file;
  file.add_bytes("norm.weight", RawType::kI32, {6}, 24);
  file.add_bytes("fc.weight", RawType::kI8, {6, 5}, 30);
  file.add_bytes("conv.weight", RawType::kU8, {2, 1, 3}, 6);
  const auto wrong = [&](const auto& body) { return refusal(Code::kUnsupported, file, body); };
  std::int64_t state = 0;
  EXPECT_EQ(wrong([](const Binder& b) { b.vector("norm.weight", 6); }),
            "norm.weight: expected F32, F16 or BF16, found I32 in model.safetensors");
  EXPECT_EQ(wrong([](const Binder& b) { b.linear("fc", 6, 5); }).find("fc.weight: "), 0U);
  EXPECT_EQ(wrong([&](const Binder& b) { b.conv("conv", 2, 1, 3, 1, 1, state); }),
            "conv.weight: expected F32, F16 or BF16, found U8 in model.safetensors");
  EXPECT_EQ(wrong([&](const Binder& b) { b.conv("conv", 2, 2, 3, 1, 2, state); }),
            "conv.weight: expected F32, F16 or BF16, found U8 in model.safetensors");
}

TEST_F(BinderTest, ATensorThatNobodyAskedForIsNamed) {
  TestCheckpoint file;
  file.add("norm.weight", {6});
  file.add("decoder.head.weight", {2, 3}, RawType::kBF16);
  const auto bind = [](const Binder& b) { b.vector("norm.weight", 6); };
  EXPECT_EQ(refusal(Code::kUnsupported, file, bind),
            "decoder.head.weight in model.safetensors: a tensor that this model has no place for "
            "(BF16, [2, 3])");
}

TEST_F(BinderTest, WhatIsIgnoredMayBeThereAndItsNeighboursMayNot) {
  TestCheckpoint file;
  file.add("norm.weight", {6});
  file.add("model.decoder.a", {2});
  file.add("model.decoder.b.c", {2});
  const auto bind = [](const Binder& b) {
    b.vector("norm.weight", 6);
    b.at("model").ignore("decoder.");
    b.ignore("optimizer.");  // what is not there may be ignored too
  };
  {
    const Checkpoint checkpoint = file.open();
    WeightStore store;
    const Binder binder(checkpoint, *device_, store);
    bind(binder);
    binder.finish();
    EXPECT_EQ(binder.parameters(), 6);
  }
  file.add("model.decoder2", {2});
  EXPECT_EQ(refusal(Code::kUnsupported, file, bind).find("model.decoder2 in "), 0U);
}

TEST_F(BinderTest, ScopesShareOneWalk) {
  TestCheckpoint file;
  file.add("a.x", {1});
  file.add("b.0.x", {1});
  const Checkpoint checkpoint = file.open();
  WeightStore store;
  const Binder root(checkpoint, *device_, store);
  const Binder a = root.at("a");
  const Binder b = root.at("b", 0);
  a.vector("x", 1);
  b.vector("x", 1);
  a.finish();
  EXPECT_EQ(b.parameters(), 2);
}

TEST_F(BinderTest, AnInterruptEndsTheWalkAtTheNextTensor) {
  TestCheckpoint file;
  file.add("a", {1});
  file.add("b", {1});
  const auto bind = [](const Binder& binder) {
    binder.vector("a", 1);
    set_interrupted(true);
    binder.vector("b", 1);
  };
  const std::string message = refusal(Code::kCancelled, file, bind);
  set_interrupted(false);
  EXPECT_NE(message.find("interrupted"), std::string::npos) << message;
}

}  // namespace
}  // namespace verbatim
