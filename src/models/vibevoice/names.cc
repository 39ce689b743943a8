// Three spellings of one tree.
// Reference: transformers convert_vibevoice_asr_to_hf.py, its renaming table.
#include "models/vibevoice/names.h"

#include "checkpoint/checkpoint.h"

namespace verbatim::vibevoice {
namespace {

const char* word(Which which) {
  return which == Which::kAcoustic ? "acoustic" : "semantic";
}

}  // namespace

Names::Names(const Checkpoint& checkpoint) {
  if (checkpoint.find("acoustic_tokenizer_encoder.stem.conv.conv.weight") != nullptr) {
    original_ = false;
  } else if (checkpoint.find("model.acoustic_tokenizer_encoder.stem.conv.conv.weight") != nullptr) {
    original_ = false;
    front_ = "model.";
  } else {
    checkpoint.tensor("model.acoustic_tokenizer.encoder.downsample_layers.0.0.conv.conv.weight");
  }
  // The language model's prefix is where its first norm stands.
  constexpr std::string_view kFirst = "layers.0.input_layernorm.weight";
  const RawTensor* found = nullptr;
  for (const RawTensor& raw : checkpoint.tensors()) {
    if (!raw.name.ends_with(kFirst)) continue;
    if (found != nullptr) {
      fail(Code::kCorrupt, "%s and %s: two tensors that could begin the language model",
           found->name.c_str(), raw.name.c_str());
    }
    found = &raw;
  }
  if (found == nullptr)
    found = &checkpoint.tensor(std::string("model.language_model.") + std::string(kFirst));
  decoder_ = found->name.substr(0, found->name.size() - kFirst.size());
  if (!decoder_.empty()) decoder_.pop_back();
  for (const char* name : {"lm_head", "language_model.lm_head"}) {
    if (checkpoint.find(std::string(name) + ".weight") != nullptr) lm_head_ = name;
  }
}

std::string Names::encoder(Which which) const {
  if (original_) return std::string("model.") + word(which) + "_tokenizer.encoder";
  return front_ + word(which) + "_tokenizer_encoder";
}

std::string Names::down(std::size_t stage) const {
  if (original_) return "downsample_layers." + std::to_string(stage) + ".0.conv.conv";
  return stage == 0 ? "stem.conv.conv" : "conv_layers." + std::to_string(stage - 1) + ".conv.conv";
}

std::string Names::block(std::size_t stage, int index) const {
  const std::string last = std::to_string(index);
  if (original_) return "stages." + std::to_string(stage) + "." + last;
  return (stage == 0 ? std::string("stem") : "conv_layers." + std::to_string(stage - 1)) +
         ".stage." + last;
}

std::string Names::mixer() const {
  return original_ ? "mixer.conv.conv.conv" : "mixer.conv";
}

std::string Names::head() const {
  return original_ ? "head.conv.conv" : "head.conv";
}

std::string Names::connector(Which which, const char* part) const {
  if (original_) return std::string("model.") + word(which) + "_connector." + part;
  const std::string_view name = part;
  const char* here = name == "fc1" ? "_linear_1" : name == "fc2" ? "_linear_2" : "_norm";
  return front_ + "multi_modal_projector." + word(which) + here;
}

std::string Names::ignored() const {
  return "model.acoustic_tokenizer.decoder.";
}

}  // namespace verbatim::vibevoice
