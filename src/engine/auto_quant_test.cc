// --quant auto: the first that fits, and never what is quantised already.
#include "engine/auto_quant.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "engine/placement.h"

namespace verbatim {
namespace {

constexpr const char* kNano = "models/vibevoice-asr-nano";

struct Machine {
  explicit Machine(const std::string& folder)
      : checkpoint(Checkpoint::open(folder)), family(recognise_family(checkpoint)) {
    options.model = folder;
    options.threads = 1;
    DeviceOptions one;
    one.threads = 1;
    device = open_device("cpu", one);
  }
  std::string chosen() const {
    return quantization_text(chosen_quantization(options, checkpoint, family, *device));
  }
  std::size_t total(const char* quant) const {
    EngineOptions asked = options;
    asked.auto_quant = false;
    asked.memory_limit_bytes = 0;
    asked.quant.decoder = weight_choice("--quant", quant);
    return place(asked, checkpoint, family, *device).memory.total();
  }
  Checkpoint checkpoint;
  const Family& family;
  std::unique_ptr<Device> device;
  EngineOptions options;
};

TEST(AutoQuant, TakesTheFirstThatFits) {
  Machine machine(kNano);
  machine.options.auto_quant = true;
  EXPECT_EQ(machine.chosen(), "int8");
  machine.options.memory_limit_bytes = machine.total("int8");
  EXPECT_EQ(machine.chosen(), "int8");
  machine.options.memory_limit_bytes = machine.total("int8") - 1;
  EXPECT_EQ(machine.chosen(), "nf4");
  machine.options.memory_limit_bytes = machine.total("nf4") - 1;
  EXPECT_EQ(machine.chosen(), "int4");
}

TEST(AutoQuant, SaysWhatWasMissingWhereNothingFits) {
  Machine machine(kNano);
  machine.options.auto_quant = true;
  machine.options.memory_limit_bytes = machine.total("int4") - 1;
  try {
    machine.chosen();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
    EXPECT_NE(std::string(error.what()).find("--memory-limit"), std::string::npos) << error.what();
  }
}

TEST(AutoQuant, LeavesWhatIsQuantisedAndWhatWasNotAsked) {
  Machine quantised("tests/golden/vibevoice-asr/quant-nf4");
  quantised.options.auto_quant = true;
  EXPECT_EQ(quantised.chosen(), "as stored");
  Machine plain(kNano);
  plain.options.quant.decoder = weight_choice("--quant", "w4a8");
  plain.options.quant.head = weight_choice("--head-quant", "int8");
  EXPECT_EQ(plain.chosen(), "w4a8, head int8");
}

TEST(AutoQuant, WhatIsQuantisedIsNotQuantisedAgain) {
  Machine machine("tests/golden/vibevoice-asr/quant-nf4");
  try {
    machine.total("int8");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("is stored in nf4 already"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace verbatim
