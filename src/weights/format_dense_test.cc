// The dense formats: values, the order of sums, and refusals that name tensor, shape and file.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/write_safetensors.h"
#include "weights/layout.h"
#include "weights/test_values.h"

namespace verbatim {
namespace {

constexpr std::int32_t kOut = 3;
constexpr std::int32_t kIn = 5;

float value_at(std::int32_t row, std::int32_t column) {
  return static_cast<float>(row * kIn + column) * 0.25f - 1.5f;  // exact in every format
}

std::vector<std::byte> stored(const WeightFormat& format) {
  std::vector<float> values;
  for (std::int32_t i = 0; i < kOut * kIn; ++i) values.push_back(value_at(i / kIn, i % kIn));
  return verbatim::stored(format, values);
}

RawType stored_type(const WeightFormat& format) {
  return &format == &kFormatF32 ? RawType::kF32
                                : (&format == &kFormatF16 ? RawType::kF16 : RawType::kBF16);
}

// A checkpoint with one tensor.
class OneTensor {
 public:
  OneTensor(const std::string& name, RawType type, std::vector<std::int64_t> shape,
            std::span<const std::byte> bytes) {
    folder_.write("config.json", "{}");
    const NamedTensor tensor{.name = name, .type = type, .shape = std::move(shape), .bytes = bytes};
    write_safetensors(folder_.path("model.safetensors"), {&tensor, 1});
  }
  Checkpoint open() const { return Checkpoint::open(folder_.path()); }

 private:
  ScratchFolder folder_;
};

Weight read(const Checkpoint& checkpoint, std::int32_t out, std::int32_t in) {
  WeightStorage storage;
  return recognise_layout(checkpoint, "a.q_proj").read(checkpoint, "a.q_proj", out, in, storage);
}

TEST(DenseFormats, ACheckpointsRowsDecodeToItsValues) {
  for (const WeightFormat* format : dense_formats()) {
    const OneTensor file("a.q_proj.weight", stored_type(*format), {kOut, kIn}, stored(*format));
    const Checkpoint checkpoint = file.open();
    WeightStorage storage;
    const Weight weight =
        recognise_layout(checkpoint, "a.q_proj").read(checkpoint, "a.q_proj", kOut, kIn, storage);
    ASSERT_EQ(storage.tensors.size(), 1U);
    EXPECT_EQ(storage.tensors[0]->name, "a.q_proj.weight");
    EXPECT_EQ(weight.format, format);
    EXPECT_EQ(weight.out_features, kOut);
    EXPECT_EQ(weight.in_features, kIn);
    for (std::int32_t row = 0; row < kOut; ++row) {
      std::vector<float> out(kIn);
      format->decode_row(weight, row, out);
      for (std::int32_t i = 0; i < kIn; ++i) {
        EXPECT_EQ(out[static_cast<std::size_t>(i)], value_at(row, i)) << format->name;
      }
    }
  }
}

TEST(DenseFormats, AlignmentDoesNotChangeValues) {
  for (const WeightFormat* format : dense_formats()) {
    const std::vector<std::byte> bytes = stored(*format);
    for (std::size_t shift = 0; shift < 4; ++shift) {
      std::vector<std::byte> moved(bytes.size() + shift);
      std::copy(bytes.begin(), bytes.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
      const Weight weight = dense_weight(*format, std::span(moved).subspan(shift), kOut, kIn);
      std::vector<float> out(kIn);
      format->decode_row(weight, kOut - 1, out);
      EXPECT_EQ(out.back(), value_at(kOut - 1, kIn - 1)) << format->name << " at " << shift;
    }
  }
}

TEST(DenseFormats, SegmentsEndAtMultiplesOf256AndAtTheRowsEnd) {
  for (const WeightFormat* format : dense_formats()) {
    for (const std::int32_t in : {1, 255, 256, 257, 3584}) {
      Weight weight;
      weight.format = format;
      weight.in_features = in;
      std::int32_t first = 0;
      while (first < in) {
        const std::int32_t end = format->segment_end(weight, first);
        EXPECT_TRUE(end == in || end % 256 == 0);
        EXPECT_GT(end, first);
        EXPECT_LE(end - first, 256);
        for (std::int32_t inside = first; inside < end; ++inside) {
          ASSERT_EQ(format->segment_end(weight, inside), end) << in << " " << inside;
        }
        first = end;
      }
      EXPECT_EQ(first, in);
    }
  }
}

TEST(DenseFormats, AWrongShapeNamesTensorShapesAndFile) {
  const OneTensor file("a.q_proj.weight", RawType::kF32, {kOut, kIn}, stored(kFormatF32));
  const Checkpoint checkpoint = file.open();
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { read(checkpoint, kIn, kOut); }),
            "a.q_proj.weight: expected [5, 3], found [3, 5] in model.safetensors");
  const OneTensor flat("a.q_proj.weight", RawType::kF32, {kOut * kIn}, stored(kFormatF32));
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { read(flat.open(), kOut, kIn); }),
            "a.q_proj.weight: expected [3, 5], found [15] in model.safetensors");
  const OneTensor deep("a.q_proj.weight", RawType::kF32, {kOut, kIn, 1}, stored(kFormatF32));
  EXPECT_EQ(message_of(Code::kCorrupt, [&] { read(deep.open(), kOut, kIn); }),
            "a.q_proj.weight: expected [3, 5], found [3, 5, 1] in model.safetensors");
}

TEST(RecogniseLayout, AMissingWeightIsNamed) {
  const OneTensor file("a.q_proj.bias", RawType::kU8, {1}, std::vector<std::byte>(1));
  EXPECT_TRUE(
      contains(message_of(Code::kNotFound, [&] { recognise_layout(file.open(), "a.q_proj"); }),
               "a.q_proj.weight: no such tensor in "));
}

TEST(RecogniseLayout, AnotherDtypeIsNamed) {
  const OneTensor file("a.q_proj.weight", RawType::kI8, {1}, std::vector<std::byte>(1));
  EXPECT_EQ(message_of(Code::kUnsupported, [&] { recognise_layout(file.open(), "a.q_proj"); }),
            "a.q_proj.weight: found dtype I8 in model.safetensors, expected one of the weight "
            "formats f32, f16, bf16");
}

TEST(RecogniseLayout, QuantisedWeightsAreNamedByWhatIsThere) {
  for (const char* name : {"a.q_proj.qweight", "a.q_proj.weight_scale", "a.q_proj.SCB"}) {
    const OneTensor file(name, RawType::kU8, {1}, std::vector<std::byte>(1));
    const std::string message =
        message_of(Code::kUnsupported, [&] { recognise_layout(file.open(), "a.q_proj"); });
    EXPECT_TRUE(contains(message, std::string("a.q_proj: quantised: found ") + name)) << message;
  }
}

}  // namespace
}  // namespace verbatim
