// The safetensors parser: what the format allows is read, everything else is refused by name.
#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "checkpoint/scratch_folder.h"

namespace verbatim {
namespace {

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<RawTensor> parsed(const std::string& bytes) {
  return kSafetensors.parse(as_bytes(bytes), "some.safetensors");
}

std::string refusal(Code code, std::string_view header, std::size_t data_bytes) {
  const std::string bytes = safetensors_bytes(header, std::string(data_bytes, 'x'));
  const std::string message = message_of(code, [&] { parsed(bytes); });
  EXPECT_TRUE(contains(message, "some.safetensors")) << message;
  return message;
}

TEST(Safetensors, ReadsEveryTypeWithItsShapeAndBytes) {
  const std::string bytes =
      safetensors_bytes(R"({"__metadata__":{"format":"pt"},)"
                        R"("a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
                        R"("c":{"dtype":"F16","shape":[2,1],"data_offsets":[12,16]},)"
                        R"("d":{"dtype":"BF16","shape":[1,1,2],"data_offsets":[16,20]},)"
                        R"("e":{"dtype":"I64","shape":[1],"data_offsets":[20,28]},)"
                        R"("f":{"dtype":"I32","shape":[1],"data_offsets":[28,32]},)"
                        R"("g":{"dtype":"I16","shape":[1],"data_offsets":[32,34]},)"
                        R"("h":{"dtype":"I8","shape":[1],"data_offsets":[34,35]},)"
                        R"("i":{"dtype":"U8","shape":[1],"data_offsets":[35,36]},)"
                        R"("j":{"dtype":"BOOL","shape":[1],"data_offsets":[36,37]},)"
                        R"("k":{"dtype":"F32","shape":[0,7],"data_offsets":[37,37]}}   )",
                        "0123456789abcdefghijklmnopqrstuvwxyzA");
  const std::vector<RawTensor> tensors = parsed(bytes);
  ASSERT_EQ(tensors.size(), 11u);
  const std::vector<RawType> types{RawType::kF64, RawType::kF32,  RawType::kF16, RawType::kBF16,
                                   RawType::kI64, RawType::kI32,  RawType::kI16, RawType::kI8,
                                   RawType::kU8,  RawType::kBool, RawType::kF32};
  for (std::size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(tensors[i].type, types[i]) << tensors[i].name;
  }
  EXPECT_EQ(tensors[3].shape, (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_EQ(std::memcmp(tensors[3].bytes.data(), "ghij", 4), 0);
  EXPECT_EQ(tensors[3].file, "some.safetensors");
  EXPECT_TRUE(tensors[0].shape.empty());
  EXPECT_EQ(tensors[10].bytes.size(), 0u);
}

TEST(Safetensors, AFileWithoutTensorsIsEmpty) {
  EXPECT_TRUE(parsed(safetensors_bytes("{}", "")).empty());
}

TEST(Safetensors, DataNeedNotBeAligned) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  for (int spaces = 0; spaces < 4; ++spaces) {
    const std::string bytes =
        safetensors_bytes(header + std::string(static_cast<std::size_t>(spaces), ' '), "wxyz");
    EXPECT_EQ(std::memcmp(parsed(bytes).at(0).bytes.data(), "wxyz", 4), 0);
  }
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string whole =
      safetensors_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"I16","shape":[3],"data_offsets":[8,14]}})",
                        std::string(14, 'x'));
  EXPECT_EQ(parsed(whole).size(), 2u);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string message = message_of(Code::kCorrupt, [&] { parsed(whole.substr(0, size)); });
    EXPECT_TRUE(contains(message, "truncated")) << size << ": " << message;
  }
}

TEST(Safetensors, AnImpossibleHeaderLengthIsRefused) {
  std::string bytes = safetensors_bytes("{}", "");
  bytes[7] = '\x7f';
  EXPECT_TRUE(
      contains(message_of(Code::kCorrupt, [&] { parsed(bytes); }), "the limit is 100000000"));
  bytes.assign(8, '\xff');
  EXPECT_TRUE(
      contains(message_of(Code::kCorrupt, [&] { parsed(bytes); }), "the limit is 100000000"));
}

TEST(Safetensors, AHeaderThatIsNoObjectIsRefused) {
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, "", 0), "begin with '{'"));
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, "[]", 0), "begin with '{'"));
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, " {}", 0), "begin with '{'"));
  refusal(Code::kCorrupt, "{\"a\":", 0);
  refusal(Code::kCorrupt, "{} {}", 0);
  refusal(Code::kCorrupt, "{}x", 0);
  refusal(Code::kCorrupt, std::string("{}\0", 3), 0);
}

TEST(Safetensors, AWrongTypeIsRefusedByName) {
  const std::string message =
      refusal(Code::kUnsupported,
              R"({"q.weight":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1);
  EXPECT_TRUE(contains(message, "q.weight")) << message;
  EXPECT_TRUE(contains(message, "F8_E4M3")) << message;
  refusal(Code::kUnsupported, R"({"a":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})", 4);
  refusal(Code::kCorrupt, R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4);
  refusal(Code::kCorrupt, R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4);
}

TEST(Safetensors, AWrongShapeIsRefusedByName) {
  const auto shaped = [](const char* shape) {
    return formatted(R"({"q.weight":{"dtype":"F32","shape":%s,"data_offsets":[0,4]}})", shape);
  };
  for (const char* shape :
       {"1", "null", "[-1]", "[1.0]", "[\"1\"]", "[18446744073709551615]", "[2]", "[0]",
        "[1,1,1,0]", "[4611686018427387904,4]", "[9223372036854775807,9223372036854775807]"}) {
    const std::string message = refusal(Code::kCorrupt, shaped(shape), 4);
    EXPECT_TRUE(contains(message, "q.weight")) << message;
  }
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, shaped("[3,2]"), 4),
                       "F32 [3, 2] takes 24 bytes, its header gives it 4"));
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, shaped("[4294967296,4294967296,0]"), 4),
                       "impossibly large"));
  refusal(Code::kCorrupt, R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4);
  refusal(Code::kCorrupt, R"({"a":[]})", 0);
}

TEST(Safetensors, OffsetsOutsideTheDataAreRefused) {
  const auto at = [](const char* offsets) {
    return formatted(R"({"q.weight":{"dtype":"F32","shape":[1],"data_offsets":%s}})", offsets);
  };
  for (const char* offsets :
       {"[4,0]", "[0]", "[0,4,4]", "4", "[0,4.0]", "[-4,0]", "[18446744073709551612,0]",
        "[9223372036854775804,9223372036854775807]"}) {
    EXPECT_TRUE(contains(refusal(Code::kCorrupt, at(offsets), 4), "q.weight"));
  }
  const std::string message = refusal(Code::kCorrupt, at("[1,5]"), 4);
  EXPECT_TRUE(contains(message, "ends at byte 5 and the file holds 4 bytes")) << message;
}

TEST(Safetensors, OverlappingTensorsAreBothNamed) {
  const std::string message =
      refusal(Code::kCorrupt,
              R"({"first":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
              R"("second":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
              12);
  EXPECT_TRUE(contains(message, "first and second overlap")) << message;
  refusal(Code::kCorrupt,
          R"({"first":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
          R"("same":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
          8);
}

TEST(Safetensors, BytesOfNoTensorAreRefused) {
  EXPECT_TRUE(contains(
      refusal(Code::kCorrupt, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
      "[0, 4) before tensor a belong to no tensor"));
  EXPECT_TRUE(contains(
      refusal(Code::kCorrupt, R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 7),
      "the last 3 bytes belong to no tensor"));
}

TEST(Safetensors, ANameThatComesTwiceIsRefused) {
  const std::string twice = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                            R"("\u0061":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, twice, 4), "\"a\" stands there twice"));
  refusal(Code::kCorrupt, R"({"a":{"dtype":"F16","dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          4);
}

TEST(Safetensors, KeysAreOnlyComparedWithinTheirObject) {
  EXPECT_NO_THROW(
      refuse_duplicate_keys(R"({"a":{"b":["a","a",{"a":1}],"a":"b"},"b":"},\"a\":"})", "x"));
  EXPECT_THROW(refuse_duplicate_keys(R"([{"b":[{}],"c\\":1,"b":2}])", "x"), Error);
  EXPECT_THROW(refuse_duplicate_keys(R"({"":1,"":2})", "x"), Error);
}

TEST(Safetensors, MetadataHoldsStringsOnly) {
  EXPECT_TRUE(contains(refusal(Code::kCorrupt, R"({"__metadata__":{"format":1}})", 0), "format"));
  refusal(Code::kCorrupt, R"({"__metadata__":[]})", 0);
}

TEST(Safetensors, MessagesShowNoControlCharactersOfAFile) {
  const std::string message = refusal(Code::kCorrupt, R"({"a\u001b[2J\u0000":{"dtype":"F32"}})", 0);
  EXPECT_TRUE(contains(message, "tensor a?[2J?: ")) << message;
  const std::string longest(100000, 'n');
  EXPECT_LT(refusal(Code::kCorrupt, "{\"" + longest + "\":1}", 0).size(), 400u);
}

TEST(Safetensors, DamagedFilesEndInAnErrorOrInTensorsInside) {
  const std::string whole = safetensors_bytes(
      R"({"__metadata__":{"f":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"U8","shape":[5],"data_offsets":[24,29]}})",
      std::string(29, 'x'));
  std::mt19937 random(1);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) {
      bytes[random() % (bytes.size() - 29)] =
          static_cast<char>(random() % 4 ? '0' + random() % 80 : random());
    }
    try {
      for (const RawTensor& tensor : parsed(bytes)) {
        ASSERT_GE(static_cast<const void*>(tensor.bytes.data()), bytes.data());
        ASSERT_LE(static_cast<const void*>(tensor.bytes.data() + tensor.bytes.size()),
                  bytes.data() + bytes.size());
      }
      ++read;
    } catch (const Error& error) {
      ASSERT_TRUE(contains(error.what(), "some.safetensors"));
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 20000);
}

}  // namespace
}  // namespace verbatim
