// Two devices that agree pass unseen; one wrong bit in any op is found, and named.
#include "device/checked_device.h"

#include <gtest/gtest.h>

#include <string>

#include "device/small_run.h"

namespace verbatim {
namespace {

// Access to the ops of any device, for the device below.
struct Ops : Device {
  using Device::do_add;
  using Device::do_attention;
  using Device::do_best;
  using Device::do_conv1d;
  using Device::do_embed;
  using Device::do_linear;
  using Device::do_pick;
  using Device::do_rms_norm;
  using Device::do_rope;
  using Device::do_swiglu;
};

// Another device, with the lowest bit of one value of one op turned over.
class WrongDevice final : public Device {
 public:
  WrongDevice(std::unique_ptr<Device> inner, std::string wrong)
      : inner_(std::move(inner)), wrong_(std::move(wrong)) {}
  const DeviceInfo& info() const override { return inner_->info(); }
  Buffer allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void upload(const Tensor& to, std::span<const std::byte> from) override {
    inner_->upload(to, from);
  }
  void download(std::span<std::byte> to, const Tensor& from) override {
    inner_->download(to, from);
  }
  std::unique_ptr<DeviceWeight> prepare(const Weight& weight, Use use) override {
    return inner_->prepare(weight, use);
  }
  std::size_t weight_bytes(const Weight& weight, Use use) const override {
    return inner_->weight_bytes(weight, use);
  }
  Tensor receive(const Tensor& x) override { return x; }
  std::size_t attention_scratch_bytes(const Spans& spans,
                                      const AttentionShape& shape) const override {
    return inner_->attention_scratch_bytes(spans, shape);
  }

 protected:
  void do_embed(const DeviceWeight& table, std::span<const RowInput> rows,
                const Tensor& out) override {
    (*inner_.*&Ops::do_embed)(table, rows, out);
    spoil("embed", out);
  }
  void do_rms_norm(const Tensor& x, const Spans* spans, const Tensor& gains, float eps,
                   const Tensor& out) override {
    (*inner_.*&Ops::do_rms_norm)(x, spans, gains, eps, out);
    spoil("rms_norm", out);
  }
  void do_linear(const Tensor& x, std::span<const Linear* const> w, std::span<const Tensor> out,
                 const Epilogue& epilogue) override {
    (*inner_.*&Ops::do_linear)(x, w, out, epilogue);
    spoil("linear", out.back());
  }
  void do_swiglu(const Tensor& gate, const Tensor& up, const Tensor& out) override {
    (*inner_.*&Ops::do_swiglu)(gate, up, out);
    spoil("swiglu", out);
  }
  void do_add(const Tensor& x, const Tensor& y) override {
    (*inner_.*&Ops::do_add)(x, y);
    spoil("add", x);
  }
  void do_rope(const Tensor& x, const Spans& spans, const RopeTable& table) override {
    (*inner_.*&Ops::do_rope)(x, spans, table);
    spoil("rope", x);
  }
  void do_pick(const Tensor& x, std::span<const std::int32_t> rows, const Tensor& out) override {
    (*inner_.*&Ops::do_pick)(x, rows, out);
    spoil("pick", out);
  }
  void do_best(const Tensor& x, const Linear& head, const Tensor& logits,
               const Tensor& out) override {
    (*inner_.*&Ops::do_best)(x, head, logits, out);
    spoil("best", out);
  }
  void do_conv1d(const Tensor& x, const Spans& spans, const Conv1d& conv, const Epilogue& epilogue,
                 const Tensor& out) override {
    (*inner_.*&Ops::do_conv1d)(x, spans, conv, epilogue, out);
    spoil("conv1d", out);
    if (wrong_ == "conv1d context") {
      *static_cast<std::uint32_t*>(static_cast<void*>(spans.host[1].conv->at(conv.state, 1))) ^= 1U;
    }
  }
  void do_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Spans& spans,
                    const AttentionShape& shape, const Tensor& scratch,
                    const Tensor& out) override {
    (*inner_.*&Ops::do_attention)(q, k, v, spans, shape, scratch, out);
    spoil("attention", out);
  }

 private:
  void spoil(const char* op, const Tensor& out) const {
    if (wrong_ != op) return;
    const std::int64_t at = (out.rows - 1) * out.stride + out.cols / 2;
    static_cast<std::uint32_t*>(static_cast<void*>(out.data))[at] ^= 1U;
  }
  std::unique_ptr<Device> inner_;
  std::string wrong_;
};

std::unique_ptr<Device> checked(std::unique_ptr<Device> first, Device& second) {
  auto made = std::make_unique<CheckedDevice>(std::move(first), second);
  made->set_arena(Arena(made->allocate(std::size_t{8} << 20)));
  return made;
}

TEST(CheckedDevice, EveryTableAgreesWithTheScalarOneOnEveryFormat) {
  for (const std::string& isa : device_factories().back()->variants()) {
    for (const WeightFormat* format : dense_formats()) {
      for (const char* kv : KvCodecs::kNames) {
        const std::unique_ptr<Device> second = cpu_with(1, "scalar");
        const std::unique_ptr<Device> device = checked(cpu_with(2, isa.c_str()), *second);
        SmallRun run(*device, *format, allocate_host, kv);
        EXPECT_NO_THROW(run.all()) << isa << " " << format->name << " " << kv;
      }
    }
  }
}

TEST(CheckedDevice, ThreadsOfTheTwoMayDiffer) {
  for (const int threads : {1, 2, 5}) {
    const std::unique_ptr<Device> second = cpu_with(3);
    const std::unique_ptr<Device> device = checked(cpu_with(threads), *second);
    SmallRun run(*device, kFormatBF16);
    EXPECT_NO_THROW(run.all()) << threads;
  }
}

TEST(CheckedDevice, KeepsTheFirstDevicesBytes) {
  const std::unique_ptr<Device> second = cpu_with(1, "scalar");
  const std::unique_ptr<Device> device = checked(cpu_with(2), *second);
  SmallRun run(*device, kFormatF16);
  run.all();
  const std::unique_ptr<Device> plain = cpu_with(2);
  SmallRun expected(*plain, kFormatF16);
  expected.all();
  EXPECT_EQ(run.bytes(), expected.bytes());
}

TEST(CheckedDevice, OneWrongBitOfAnyOpIsFoundAndNamed) {
  for (const std::string op : {"embed", "rms_norm", "linear", "swiglu", "add", "rope", "pick",
                               "best", "conv1d", "conv1d context", "attention"}) {
    for (const bool first_is_wrong : {false, true}) {
      std::unique_ptr<Device> right = cpu_with(1);
      std::unique_ptr<Device> wrong = std::make_unique<WrongDevice>(cpu_with(1), op);
      if (first_is_wrong) std::swap(right, wrong);
      const std::unique_ptr<Device> device = checked(std::move(right), *wrong);
      SmallRun run(*device, kFormatBF16);
      try {
        run.all();
        ADD_FAILURE() << op << " went unseen";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDevice);
        const std::string said = error.what();
        EXPECT_EQ(said.find(op + " "), 0U) << said;
        EXPECT_NE(said.find("row "), std::string::npos) << said;
        EXPECT_NE(said.find("column "), std::string::npos) << said;
      }
    }
  }
}

TEST(CheckedDevice, TheErrorNamesWeightRowColumnAndBothValues) {
  WrongDevice second(cpu_with(1), "linear");
  const std::unique_ptr<Device> device = checked(cpu_with(1), second);
  TestPlace place(*device, 1);
  const std::vector<float> identity{1, 0, 0, 1};
  Linear w;
  w.weight = place.weight(kFormatF32, identity, 2);
  const_cast<DeviceWeight&>(*w.weight).name = "layers.4.up_proj";
  const Tensor x = place.rows(std::vector<float>{1, 2, 3, 4, 5, 6}, 3);
  try {
    device->linear(x, w);
    FAIL() << "the wrong bit went unseen";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "linear layers.4.up_proj: row 2, column 1 is 6 on the first device and 6.00000048 "
                 "on the second");
  }
}

TEST(CheckedDevice, TakesTheMemoryOfBothDevices) {
  const std::unique_ptr<Device> second = cpu_with(1);
  const std::unique_ptr<Device> device = checked(cpu_with(1), *second);
  const std::vector<std::byte> bytes(std::size_t{48} * 32 * 2);
  const Weight weight = dense_weight(kFormatF16, bytes, 48, 32);
  EXPECT_EQ(device->weight_bytes(weight, Use::kBoth), 2 * second->weight_bytes(weight, Use::kBoth));
  TestPlace place(*device, 1);
  place.linear(kFormatF16, 48, 32, false, Use::kBoth);
  EXPECT_EQ(place.weight_bytes(), device->weight_bytes(weight, Use::kBoth));
}

}  // namespace
}  // namespace verbatim
