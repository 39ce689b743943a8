// For tests: a checkpoint of named tensors and a config, changed one thing at a time.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/write_safetensors.h"
#include "weights/layout.h"

namespace verbatim {

struct TestTensor {
  RawType type = RawType::kU8;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

template <typename T>
TestTensor test_tensor(RawType type, std::vector<std::int64_t> shape,
                       const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {type, std::move(shape), {bytes.begin(), bytes.end()}};
}

inline TestTensor test_text(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {RawType::kU8, {static_cast<std::int64_t>(text.size())}, {bytes.begin(), bytes.end()}};
}

// One weight `a.q_proj`: what stands under it, by suffix, and config.json.
class TestLayout {
 public:
  std::map<std::string, TestTensor> parts;
  std::string config = "{}";

  Checkpoint open(const ScratchFolder& folder) const {
    folder.write("config.json", config);
    std::vector<NamedTensor> named;
    for (const auto& [suffix, part] : parts) {
      named.push_back({"a.q_proj" + suffix, part.type, part.shape, part.bytes});
    }
    write_safetensors(folder.path("model.safetensors"), named);
    return Checkpoint::open(folder.path());
  }
  // All rows, as decode_row gives them.
  std::vector<float> values(std::int32_t out, std::int32_t in) const {
    const ScratchFolder folder;
    const Checkpoint checkpoint = open(folder);
    WeightStorage storage;
    const Weight weight =
        recognise_layout(checkpoint, "a.q_proj").read(checkpoint, "a.q_proj", out, in, storage);
    EXPECT_EQ(storage.tensors.size(), parts.size()) << "every tensor under the weight is its own";
    std::vector<float> all(static_cast<std::size_t>(out) * static_cast<std::size_t>(in));
    for (std::int32_t r = 0; r < out; ++r) {
      weight.format->decode_row(
          weight, r,
          std::span(all).subspan(static_cast<std::size_t>(r) * static_cast<std::size_t>(in),
                                 static_cast<std::size_t>(in)));
    }
    return all;
  }
  std::string error(Code code, std::int32_t out, std::int32_t in) const {
    return message_of(code, [&] { values(out, in); });
  }
};

}  // namespace verbatim
