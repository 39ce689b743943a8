// Two files that say the same in other words. Reference: transformers
// convert_voxtral_realtime_weights_to_hf.py, convert_config.
#include "models/voxtral/config.h"

#include <boost/json.hpp>
#include <cmath>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "models/config_fields.h"

namespace verbatim::voxtral {
namespace {

constexpr TransformerFields kMistralFields{"n_layers",   "dim",      "hidden_dim", "n_heads",
                                           "n_kv_heads", "head_dim", "norm_eps",   1e-5};
constexpr TransformerFields kHuggingFields{
    "num_hidden_layers",   "hidden_size", "intermediate_size", "num_attention_heads",
    "num_key_value_heads", "head_dim",    "rms_norm_eps",      1e-5};
constexpr std::int32_t kMostDelayTokens = 128;

double theta(const JsonObject& from) {
  return static_cast<double>(
      within_float(from, "rope_theta", from.number_or("rope_theta", 1e6), kLeastFloat));
}

// A number or a string of digits.
std::int64_t window(const JsonObject& from) {
  const boost::json::value* found = from.find("sliding_window");
  if (found == nullptr) {
    fail(Code::kUnsupported, "%s: expected a number, without which no cache of a stream is flat",
         from.name("sliding_window").c_str());
  }
  if (const boost::json::string* text = found->if_string()) {
    const std::string digits(text->data(), text->size());
    const bool is_number = !digits.empty() && digits.size() < 10 && digits[0] != '0' &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) return std::stoll(digits);
    fail(Code::kCorrupt, "%s: expected a number above zero, found \"%s\"",
         from.name("sliding_window").c_str(), digits.substr(0, 40).c_str());
  }
  return from.integer("sliding_window", 1, 1LL << 30);
}

void read_mel(const JsonObject& from, const char* rate, const char* bins, const char* size,
              LogMelConfig& made) {
  made.sampling_rate = static_cast<std::int32_t>(from.integer_or(rate, 16000, 8000, 192000));
  made.num_mel_bins = static_cast<std::int32_t>(from.integer_or(bins, 128, 1, 1024));
  made.hop_length = static_cast<std::int32_t>(from.integer_or("hop_length", 160, 1, 4096));
  made.window_size = static_cast<std::int32_t>(from.integer_or(size, 400, 2, 8192));
  if (made.window_size % 2 != 0 || made.hop_length > made.window_size) {
    fail(Code::kCorrupt, "%s: expected an even number of at least hop_length %d, found %d",
         from.name(size).c_str(), made.hop_length, made.window_size);
  }
  // Without the fixed maximum every clip would be measured against its own, which no stream knows.
  if (from.is_null("global_log_mel_max"))
    fail(Code::kUnsupported, "%s: expected a number", from.name("global_log_mel_max").c_str());
  made.global_log_mel_max = from.number_or("global_log_mel_max", 1.5);
}

void encoder_biases(TransformerConfig& encoder) {
  encoder.q_bias = encoder.v_bias = encoder.o_bias = encoder.down_bias = true;
}

Config read_mistral(const JsonObject& root) {
  Config made;
  made.layout = Layout::kMistral;
  expect_flag(root, "causal", true);
  expect_flag(root, "use_biases", false);
  read_transformer(root, kMistralFields, made.decoder);
  made.decoder.sliding_window = window(root);
  made.rope_theta = theta(root);
  made.vocab_size = static_cast<std::int32_t>(root.integer("vocab_size", 1, 1 << 24));
  made.model_max_length = root.integer_or("model_max_length", 131072, 1, 1LL << 40);
  made.tied_embeddings = root.boolean_or("tied_embeddings", true);
  made.ada_rms_norm_t_cond_dim =
      static_cast<std::int32_t>(root.integer_or("ada_rms_norm_t_cond_dim", 32, 1, kMaxWidth));

  const JsonObject whisper = root.object("multimodal").object("whisper_model_args");
  const JsonObject encoder = whisper.object("encoder_args");
  expect_flag(encoder, "causal", true);
  expect_flag(encoder, "use_biases", true);
  expect_text(encoder, "pos_embed", "rope");
  expect_text(encoder, "ffn_type", "swiglu");
  expect_text(encoder, "norm_type", "rms_norm");
  read_transformer(encoder, kMistralFields, made.encoder);
  encoder_biases(made.encoder);
  made.encoder.sliding_window = window(encoder);
  made.encoder_rope_theta = theta(encoder);
  const JsonObject audio = encoder.object("audio_encoding_args");
  expect_text(audio, "transcription_format", "streaming");
  read_mel(audio, "sampling_rate", "num_mel_bins", "window_size", made.mel);
  if (whisper.has("downsample_args")) {
    made.downsample_factor = static_cast<std::int32_t>(
        whisper.object("downsample_args").integer_or("downsample_factor", 4, 1, 64));
  }
  const double rate = audio.number_or("frame_rate", 1 / made.token_s());
  if (std::abs(rate * made.token_s() - 1) > 1e-6) {
    fail(Code::kCorrupt, "%s: expected %g, as hop_length and downsample_factor have it, found %g",
         audio.name("frame_rate").c_str(), 1 / made.token_s(), rate);
  }
  return made;
}

double hugging_theta(const JsonObject& from) {
  if (from.has("rope_scaling"))
    fail(Code::kUnsupported, "%s: expected null", from.name("rope_scaling").c_str());
  if (!from.has("rope_parameters")) return theta(from);
  const JsonObject rope = from.object("rope_parameters");
  expect_text(rope, "rope_type", "default");
  return theta(rope);
}

void read_processor(const Checkpoint& checkpoint, Config& made) {
  for (const char* name : {"processor_config.json", "preprocessor_config.json"}) {
    const boost::json::value* value = checkpoint.json(name);
    if (value == nullptr) continue;
    const JsonObject root(*value, name);
    const bool is_nested = root.has("feature_extractor");
    const JsonObject from = is_nested ? root.object("feature_extractor") : root;
    const std::int32_t bins = made.mel.num_mel_bins;
    read_mel(from, "sampling_rate", "feature_size", "win_length", made.mel);
    if (made.mel.num_mel_bins != bins) {
      fail(Code::kCorrupt, "%s: expected %d, as config.json has it, found %d",
           from.name("feature_size").c_str(), bins, made.mel.num_mel_bins);
    }
    if (from.integer_or("n_fft", made.mel.window_size, 1, 1 << 20) != made.mel.window_size) {
      fail(Code::kUnsupported, "%s: expected %d, the window's length", from.name("n_fft").c_str(),
           made.mel.window_size);
    }
    return;
  }
}

Config read_transformers(const Checkpoint& checkpoint, const JsonObject& root) {
  Config made;
  made.layout = Layout::kTransformers;
  expect_text(root, "projector_hidden_act", "gelu");
  const JsonObject encoder = root.object("audio_config");
  expect_text(encoder, "activation_function", "gelu");
  expect_text(encoder, "hidden_act", "silu");
  read_transformer(encoder, kHuggingFields, made.encoder);
  encoder_biases(made.encoder);
  made.encoder.sliding_window = window(encoder);
  made.encoder_rope_theta = hugging_theta(encoder);
  made.mel.num_mel_bins =
      static_cast<std::int32_t>(encoder.integer_or("num_mel_bins", 128, 1, 1024));
  made.downsample_factor =
      static_cast<std::int32_t>(root.integer_or("downsample_factor", 4, 1, 64));
  const std::int64_t frames =
      root.integer_or("audio_length_per_tok", made.token_mel_frames(), 1, 1024);
  if (frames != made.token_mel_frames()) {
    fail(Code::kCorrupt, "%s: expected %d, twice downsample_factor, found %lld",
         root.name("audio_length_per_tok").c_str(), made.token_mel_frames(),
         static_cast<long long>(frames));
  }
  made.default_num_delay_tokens = static_cast<std::int32_t>(
      root.integer_or("default_num_delay_tokens", 6, 1, kMostDelayTokens));

  const JsonObject text = root.object("text_config");
  expect_text(text, "hidden_act", "silu");
  read_transformer(text, kHuggingFields, made.decoder);
  made.decoder.sliding_window = window(text);
  made.rope_theta = hugging_theta(text);
  made.vocab_size = static_cast<std::int32_t>(text.integer("vocab_size", 1, 1 << 24));
  made.model_max_length = text.integer_or("max_position_embeddings", 131072, 1, 1LL << 40);
  read_processor(checkpoint, made);
  return made;
}

const boost::json::value* member(const boost::json::value* from, const char* name) {
  const boost::json::object* object = from != nullptr ? from->if_object() : nullptr;
  return object != nullptr ? object->if_contains(name) : nullptr;
}

bool is_true(const boost::json::value* value) {
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

bool recognise(const Checkpoint& checkpoint) {
  const boost::json::value* root = &checkpoint.config();
  if (checkpoint.config_file() != "params.json") {
    const boost::json::value* type = member(root, "model_type");
    return type != nullptr && type->is_string() && type->get_string() == "voxtral_realtime";
  }
  const boost::json::value* encoder =
      member(member(member(root, "multimodal"), "whisper_model_args"), "encoder_args");
  return is_true(member(root, "ada_rms_norm_t_cond")) && is_true(member(encoder, "causal"));
}

Config read_config(const Checkpoint& checkpoint) {
  const JsonObject root(checkpoint.config(), checkpoint.config_file());
  Config made = checkpoint.config_file() == "params.json" ? read_mistral(root)
                                                          : read_transformers(checkpoint, root);
  // Half the features of the time embedding are cosines, half are sines.
  if (made.decoder.hidden_size % 2 != 0) {
    fail(Code::kCorrupt, "%s: the decoder's width is %d, expected an even number",
         checkpoint.config_file().c_str(), made.decoder.hidden_size);
  }
  return made;
}

}  // namespace verbatim::voxtral
