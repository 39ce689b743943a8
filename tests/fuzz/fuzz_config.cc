// Any bytes as config.json, as params.json and, behind a zero byte, as the preprocessor's file: a
// refusal is an Error, and what is accepted has shapes that a model can be made of.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "models/vibevoice/config.h"
#include "models/voxtral/config.h"

using namespace verbatim;

namespace {

// A checkpoint folder with one small tensor, in memory where the machine has /dev/shm.
class Folder {
 public:
  explicit Folder(const char* weights) {
    const std::filesystem::path shm("/dev/shm");
    path_ = (std::filesystem::exists(shm) ? shm : std::filesystem::temp_directory_path()) /
            "verbatim-fuzz-XXXXXX";
    check(::mkdtemp(path_.data()) != nullptr, "the scratch folder can be made");
    const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    write(weights, bytes + header + "a");
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream out(path_ + "/" + name, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void remove(const char* name) const { std::filesystem::remove(path_ + "/" + name); }

 private:
  std::string path_;
};

void check_encoder(const vibevoice::EncoderConfig& encoder) {
  check(encoder.depths.size() == encoder.ratios.size() + 1, "every stride has its stage");
  check(encoder.hop() > 0, "a frame has samples");
  for (std::size_t s = 0; s < encoder.depths.size(); ++s) {
    check(encoder.width(s) > 0 && encoder.depths[s] > 0, "every stage has channels and blocks");
  }
}

void check_decoder(const TransformerConfig& decoder, std::int32_t vocab_size) {
  check(decoder.num_attention_heads % decoder.num_key_value_heads == 0,
        "query heads share key and value heads evenly");
  check(decoder.head_dim > 0 && decoder.num_hidden_layers > 0 && vocab_size > 0,
        "the decoder has a shape");
}

void read_vibevoice(const Checkpoint& checkpoint) {
  const vibevoice::Config config = vibevoice::read_config(checkpoint);
  check_encoder(config.acoustic);
  check_encoder(config.semantic);
  check(config.acoustic.hop() == config.semantic.hop(), "both encoders have the same frames");
  check_decoder(config.decoder, config.vocab_size);
}

void read_voxtral(const Checkpoint& checkpoint) {
  const voxtral::Config config = voxtral::read_config(checkpoint);
  check_decoder(config.encoder, 1);
  check_decoder(config.decoder, config.vocab_size);
  check(config.decoder.hidden_size % 2 == 0, "half of the time embedding are cosines");
  check(config.encoder.sliding_window > 0 && config.decoder.sliding_window > 0,
        "both windows slide");
  check(config.token_samples() > 0 && config.token_s() > 0, "a token has samples");
  check(config.mel.hop_length <= config.mel.window_size, "every sample is in a window");
  check(config.default_num_delay_tokens > 0, "text lags behind");
}

void read(const Folder& folder) {
  try {
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    if (vibevoice::recognise(checkpoint)) {
      read_vibevoice(checkpoint);
    } else if (voxtral::recognise(checkpoint)) {
      read_voxtral(checkpoint);
    }
  } catch (const Error&) {
    // A refusal by name is what bad files deserve.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder hugging("model.safetensors");
  static const Folder mistral("consolidated.safetensors");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  hugging.write("config.json", text.substr(0, zero));
  mistral.write("params.json", text.substr(0, zero));
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    if (zero == std::string_view::npos) {
      hugging.remove(name);
    } else {
      hugging.write(name, text.substr(zero + 1));
    }
  }
  read(hugging);
  read(mistral);
  return 0;
}
