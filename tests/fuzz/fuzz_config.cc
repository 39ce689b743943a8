// Any bytes as config.json and, behind a zero byte, as the preprocessor's file: a refusal is an
// Error, and what is accepted has shapes that a model can be made of.
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

using namespace verbatim;

namespace {

// A checkpoint folder with one small tensor, in memory where the machine has /dev/shm.
class Folder {
 public:
  Folder() {
    const std::filesystem::path shm("/dev/shm");
    path_ = (std::filesystem::exists(shm) ? shm : std::filesystem::temp_directory_path()) /
            "verbatim-fuzz-XXXXXX";
    check(::mkdtemp(path_.data()) != nullptr, "the scratch folder can be made");
    const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    std::string bytes(8, '\0');
    bytes[0] = static_cast<char>(header.size());
    write("model.safetensors", bytes + header + "a");
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  folder.write("config.json", text.substr(0, zero));
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    if (zero == std::string_view::npos) {
      folder.remove(name);
    } else {
      folder.write(name, text.substr(zero + 1));
    }
  }
  try {
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    if (!vibevoice::recognise(checkpoint)) return 0;
    const vibevoice::Config config = vibevoice::read_config(checkpoint);
    check_encoder(config.acoustic);
    check_encoder(config.semantic);
    check(config.acoustic.hop() == config.semantic.hop(), "both encoders have the same frames");
    check(config.decoder.num_attention_heads % config.decoder.num_key_value_heads == 0,
          "query heads share key and value heads evenly");
    check(config.decoder.head_dim > 0 && config.vocab_size > 0, "the decoder has a shape");
  } catch (const Error&) {
    // A refusal by name is what bad files deserve.
  }
  return 0;
}
