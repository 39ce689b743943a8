// Both layouts say the same things in other words; ratios are reversed in one of them.
// Reference: vibevoice/modular/configuration_vibevoice.py and transformers
// configuration_vibevoice_acoustic_tokenizer.py.
#include "models/vibevoice/config.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "models/config_fields.h"

namespace verbatim::vibevoice {
namespace {

std::vector<std::int32_t> small_integers(const JsonObject& from, std::string_view field) {
  std::vector<std::int32_t> values;
  const boost::json::value* found = from.find(field);
  if (found == nullptr) fail(Code::kCorrupt, "%s is missing", from.name(field).c_str());
  const auto take = [&](std::int64_t value) {
    if (value < 1 || value > 65536) {
      fail(Code::kCorrupt, "%s: expected numbers from 1 to 65536, found %lld",
           from.name(field).c_str(), static_cast<long long>(value));
    }
    values.push_back(static_cast<std::int32_t>(value));
  };
  if (const boost::json::array* list = found->if_array()) {
    for (const boost::json::value& each : *list) take(each.is_int64() ? each.get_int64() : -1);
  } else if (const boost::json::string* text = found->if_string()) {
    // "3-3-3-3-3-3-8"
    const char* at = text->data();
    const char* const end = at + text->size();
    while (true) {
      std::int64_t value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc() || (next != end && *next != '-')) {
        fail(Code::kCorrupt, "%s: expected numbers joined by '-', found \"%s\"",
             from.name(field).c_str(), text->c_str());
      }
      take(value);
      if (next == end) break;
      at = next + 1;
    }
  }
  if (values.empty() || values.size() > 16) {
    fail(Code::kCorrupt, "%s: expected one to 16 numbers, found %zu", from.name(field).c_str(),
         values.size());
  }
  return values;
}

void check_encoder(const EncoderConfig& made, const JsonObject& from, const char* ratios,
                   const char* depths) {
  if (made.depths.size() != made.ratios.size() + 1) {
    fail(Code::kCorrupt, "%s: %zu depths for %zu strides, expected one more",
         from.name(depths).c_str(), made.depths.size(), made.ratios.size());
  }
  constexpr std::int64_t kLongestHop = 1 << 20;
  std::int64_t hop = 1;
  for (const std::int32_t ratio : made.ratios) {
    if (hop <= kLongestHop) hop *= ratio;  // a product of sixteen would not fit
  }
  const std::int64_t widest = std::int64_t{made.n_filters} << made.ratios.size();
  if (hop > kLongestHop || widest > kMaxWidth) {
    fail(Code::kCorrupt, "%s: a frame of at least %lld samples and %lld channels is impossible",
         from.name(ratios).c_str(), static_cast<long long>(hop), static_cast<long long>(widest));
  }
}

EncoderConfig original_encoder(const JsonObject& from) {
  expect_flag(from, "causal", true);
  expect_text(from, "conv_norm", "none");
  expect_text(from, "layernorm", "RMSNorm");
  expect_text(from, "mixer_layer", "depthwise_conv");
  expect_text(from, "pad_mode", "constant");
  expect_flag(from, "disable_last_norm", true);
  expect_flag(from, "conv_bias", true);
  EncoderConfig made;
  made.channels = static_cast<std::int32_t>(from.integer_or("channels", 1, 1, 1));
  made.vae_dim = static_cast<std::int32_t>(from.integer("vae_dim", 1, kMaxWidth));
  made.n_filters = static_cast<std::int32_t>(from.integer("encoder_n_filters", 1, kMaxWidth));
  made.ratios = small_integers(from, "encoder_ratios");
  std::reverse(made.ratios.begin(), made.ratios.end());
  made.depths = small_integers(from, "encoder_depths");
  made.eps = epsilon(from, "layernorm_eps", 1e-5);
  made.fix_std = within_float(from, "fix_std", from.number_or("fix_std", 0), 0);
  check_encoder(made, from, "encoder_ratios", "encoder_depths");
  return made;
}

EncoderConfig transformers_encoder(const JsonObject& from) {
  expect_text(from, "hidden_act", "gelu");
  EncoderConfig made;
  made.channels = static_cast<std::int32_t>(from.integer_or("channels", 1, 1, 1));
  made.vae_dim = static_cast<std::int32_t>(from.integer("hidden_size", 1, kMaxWidth));
  const char* filters = from.has("num_filters") ? "num_filters" : "n_filters";
  made.n_filters = static_cast<std::int32_t>(from.integer(filters, 1, kMaxWidth));
  made.ratios = small_integers(from, "downsampling_ratios");
  made.depths = small_integers(from, "depths");
  made.kernel_size = static_cast<std::int32_t>(from.integer_or("kernel_size", 7, 1, 255));
  made.ffn_expansion = static_cast<std::int32_t>(from.integer_or("ffn_expansion", 4, 1, 64));
  made.eps = epsilon(from, "rms_norm_eps", 1e-5);
  // vae_std is the width of the wide draw, 1 / 0.8 of fix_std, unless the factor stands apart.
  const double scaling = from.number_or("vae_scaling_factor", 1);
  within_float(from, "vae_scaling_factor", scaling, kLeastFloat);
  made.fix_std = within_float(from, "vae_std", from.number_or("vae_std", 0) / scaling * 0.8, 0);
  check_encoder(made, from, "downsampling_ratios", "depths");
  return made;
}

void read_decoder(const JsonObject& from, Config& made) {
  TransformerConfig& decoder = made.decoder;
  expect_text(from, "model_type", "qwen2");
  expect_text(from, "hidden_act", "silu");
  expect_flag(from, "use_sliding_window", false);
  expect_flag(from, "use_mrope", false);
  read_transformer(from, kTransformersFields, decoder);
  decoder.q_bias = decoder.k_bias = decoder.v_bias = true;
  made.vocab_size = static_cast<std::int32_t>(from.integer("vocab_size", 1, 1 << 24));
  made.max_position_embeddings = from.integer_or("max_position_embeddings", 131072, 1, 1LL << 40);
  made.tie_word_embeddings = from.boolean_or("tie_word_embeddings", false);
  if (from.has("rope_scaling")) {
    fail(Code::kUnsupported, "%s: expected null", from.name("rope_scaling").c_str());
  }
  const bool nested = from.has("rope_parameters");
  const JsonObject rope = nested ? from.object("rope_parameters") : from;
  if (nested) expect_text(rope, "rope_type", "default");
  made.rope_theta = rope.number("rope_theta");
  within_float(rope, "rope_theta", made.rope_theta, kLeastFloat);
}

void read_preprocessor(const Checkpoint& checkpoint, Config& made) {
  const char* file =
      made.layout == Layout::kOriginal ? "preprocessor_config.json" : "processor_config.json";
  const boost::json::value* value = checkpoint.json(file);
  const std::int32_t hop = made.acoustic.hop();
  if (value == nullptr) return;
  const JsonObject root(*value, file);
  if (root.has("chunk_frames")) {
    fail(Code::kUnsupported, "%s: a streaming checkpoint, which this version does not run",
         root.name("chunk_frames").c_str());
  }
  const bool nested = root.has("feature_extractor");
  const JsonObject from = nested ? root.object("feature_extractor") : root;
  const char* rate = nested ? "sampling_rate" : "target_sample_rate";
  const char* ratio = nested ? "pad_to_multiple_of" : "speech_tok_compress_ratio";
  made.sample_rate_hz = static_cast<std::int32_t>(from.integer_or(rate, 24000, 1000, 768000));
  made.normalize_audio = from.boolean_or("normalize_audio", true);
  const std::int64_t samples = from.integer_or(ratio, hop, 1, 1 << 24);
  if (samples != hop) {
    fail(Code::kCorrupt, "%s: expected %d, the product of the encoder's strides, found %lld",
         from.name(ratio).c_str(), hop, static_cast<long long>(samples));
  }
}

}  // namespace

std::int32_t EncoderConfig::hop() const {
  std::int32_t samples = 1;
  for (const std::int32_t ratio : ratios) samples *= ratio;
  return samples;
}

bool recognise(const Checkpoint& checkpoint) {
  const boost::json::object* root = checkpoint.config().if_object();
  if (root == nullptr) return false;
  const boost::json::value* type = root->if_contains("model_type");
  return type != nullptr && type->is_string() &&
         (type->get_string() == "vibevoice" || type->get_string() == "vibevoice_asr");
}

Config read_config(const Checkpoint& checkpoint) {
  const JsonObject root(checkpoint.config(), "config.json");
  Config made;
  made.layout =
      root.string("model_type") == "vibevoice" ? Layout::kOriginal : Layout::kTransformers;
  if (const boost::json::value* names = root.find("architectures");
      names != nullptr && names->is_array()) {
    for (const boost::json::value& each : names->get_array()) {
      if (each.is_string() && each.get_string().find("Streaming") != boost::json::string::npos) {
        fail(Code::kUnsupported,
             "config.json: architectures names \"%s\", which this version does not run",
             each.get_string().c_str());
      }
    }
  }
  if (made.layout == Layout::kOriginal) {
    made.acoustic = original_encoder(root.object("acoustic_tokenizer_config"));
    made.semantic = original_encoder(root.object("semantic_tokenizer_config"));
    read_decoder(root.object("decoder_config"), made);
  } else {
    made.acoustic = transformers_encoder(root.object("acoustic_tokenizer_encoder_config"));
    made.semantic = transformers_encoder(root.object("semantic_tokenizer_encoder_config"));
    read_decoder(root.object("text_config"), made);
    made.audio_token =
        static_cast<std::int32_t>(root.integer_or("audio_token_id", -1, -1, 1 << 24));
  }
  if (made.acoustic.hop() != made.semantic.hop()) {
    fail(Code::kCorrupt,
         "config.json: the acoustic encoder has frames of %d samples, the semantic one of %d",
         made.acoustic.hop(), made.semantic.hop());
  }
  read_preprocessor(checkpoint, made);
  return made;
}

}  // namespace verbatim::vibevoice
