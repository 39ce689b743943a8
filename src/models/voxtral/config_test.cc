// What params.json and config.json may say: two files for one thing, and every number that cannot
// be.
#include "models/voxtral/config.h"

#include <gtest/gtest.h>

#include "models/changed_checkpoint.h"
#include "models/model.h"

namespace verbatim::voxtral {
namespace {

constexpr const char* kParams = "params.json";
constexpr const char* kConfig = "config.json";
constexpr const char* kProcessor = "processor_config.json";
const std::string kAudio = "multimodal.whisper_model_args.encoder_args.audio_encoding_args.";
const std::string kEncoder = "multimodal.whisper_model_args.encoder_args.";

// Only the JSON files are read here. The hub's folder holds both configs.
ChangedCheckpoint mistral() {
  ChangedCheckpoint made(std::string(kGolden) + "hub-bf16");
  made.tensors.clear();
  return made;
}
ChangedCheckpoint transformers() {
  ChangedCheckpoint made = mistral();
  made.remove_file(kParams);
  return made;
}

Config read(const ChangedCheckpoint& changed) {
  return read_config(Checkpoint::open(changed.write()));
}

void expect_equal(const TransformerConfig& a, const TransformerConfig& b) {
  EXPECT_EQ(a.num_hidden_layers, b.num_hidden_layers);
  EXPECT_EQ(a.hidden_size, b.hidden_size);
  EXPECT_EQ(a.intermediate_size, b.intermediate_size);
  EXPECT_EQ(a.num_attention_heads, b.num_attention_heads);
  EXPECT_EQ(a.num_key_value_heads, b.num_key_value_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.sliding_window, b.sliding_window);
  EXPECT_EQ(a.rms_norm_eps, b.rms_norm_eps);
  EXPECT_EQ(a.q_bias, b.q_bias);
  EXPECT_EQ(a.k_bias, b.k_bias);
  EXPECT_EQ(a.v_bias, b.v_bias);
  EXPECT_EQ(a.o_bias, b.o_bias);
  EXPECT_EQ(a.down_bias, b.down_bias);
}

void expect_equal(const Config& a, const Config& b) {
  expect_equal(a.encoder, b.encoder);
  expect_equal(a.decoder, b.decoder);
  EXPECT_EQ(a.mel.sampling_rate, b.mel.sampling_rate);
  EXPECT_EQ(a.mel.num_mel_bins, b.mel.num_mel_bins);
  EXPECT_EQ(a.mel.hop_length, b.mel.hop_length);
  EXPECT_EQ(a.mel.window_size, b.mel.window_size);
  EXPECT_EQ(a.mel.global_log_mel_max, b.mel.global_log_mel_max);
  EXPECT_EQ(a.encoder_rope_theta, b.encoder_rope_theta);
  EXPECT_EQ(a.downsample_factor, b.downsample_factor);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.vocab_size, b.vocab_size);
  EXPECT_EQ(a.model_max_length, b.model_max_length);
  EXPECT_EQ(a.tied_embeddings, b.tied_embeddings);
  EXPECT_EQ(a.ada_rms_norm_t_cond_dim, b.ada_rms_norm_t_cond_dim);
  EXPECT_EQ(a.default_num_delay_tokens, b.default_num_delay_tokens);
}

TEST(VoxtralConfig, BothFilesReadToTheSameConfig) {
  const Config a = read(mistral());
  const Config b = read(transformers());
  EXPECT_EQ(a.layout, Layout::kMistral);
  EXPECT_EQ(b.layout, Layout::kTransformers);
  expect_equal(a, b);
  EXPECT_EQ(a.decoder.hidden_size, 96);
  EXPECT_EQ(a.decoder.num_key_value_heads, 2);
  EXPECT_EQ(a.decoder.sliding_window, 8192);
  EXPECT_EQ(a.encoder.hidden_size, 64);
  EXPECT_EQ(a.encoder.sliding_window, 750);
  EXPECT_EQ(a.encoder.rms_norm_eps, 1e-5F);
  EXPECT_TRUE(a.encoder.q_bias && a.encoder.v_bias && a.encoder.o_bias && a.encoder.down_bias);
  EXPECT_FALSE(a.encoder.k_bias || a.decoder.q_bias || a.decoder.o_bias || a.decoder.down_bias);
  EXPECT_EQ(a.token_mel_frames(), 8);
  EXPECT_EQ(a.token_samples(), 1280);
  EXPECT_EQ(a.token_s(), 0.08);
}

TEST(VoxtralConfig, TheHubsFolderIsReadAsMistrals) {
  ChangedCheckpoint both = mistral();
  both.set(kConfig, "text_config.hidden_size", "\"unread\"");
  EXPECT_EQ(read(both).layout, Layout::kMistral);
}

TEST(VoxtralConfig, WhatAFileLeavesOutHasTheReferencesDefault) {
  ChangedCheckpoint params = mistral();
  for (const std::string& field :
       {std::string("causal"), std::string("use_biases"), std::string("rope_theta"),
        std::string("norm_eps"), std::string("model_max_length"), std::string("tied_embeddings"),
        std::string("ada_rms_norm_t_cond_dim"),
        std::string("multimodal.whisper_model_args"
                    ".downsample_args"),
        kEncoder + "n_kv_heads", kEncoder + "rope_theta", kEncoder + "norm_eps",
        kEncoder + "pos_embed", kAudio + "sampling_rate", kAudio + "frame_rate",
        kAudio + "num_mel_bins", kAudio + "hop_length", kAudio + "window_size",
        kAudio + "global_log_mel_max"})
    params.erase(kParams, field);
  expect_equal(read(params), read(mistral()));

  ChangedCheckpoint config = transformers();
  config.remove_file(kProcessor);
  for (const char* field :
       {"audio_length_per_tok", "default_num_delay_tokens", "downsample_factor",
        "projector_hidden_act", "tie_word_embeddings", "audio_config.num_key_value_heads",
        "audio_config.num_mel_bins", "audio_config.rope_parameters", "text_config.rope_parameters",
        "text_config.max_position_embeddings", "text_config.rms_norm_eps"})
    config.erase(kConfig, field);
  expect_equal(read(config), read(transformers()));
}

TEST(VoxtralConfig, AnEarlierSpellingOfThetaMeansTheSame) {
  ChangedCheckpoint early = transformers();
  early.erase(kConfig, "text_config.rope_parameters");
  early.set(kConfig, "text_config.rope_theta", "10000");
  EXPECT_EQ(read(early).rope_theta, 10000);
  EXPECT_EQ(read(early).encoder_rope_theta, 1e6);
}

TEST(VoxtralConfig, AWindowMayBeWrittenAsAString) {
  ChangedCheckpoint changed = mistral();
  changed.set(kParams, "sliding_window", "\"16\"");
  changed.set(kParams, kEncoder + "sliding_window", "12.0");
  EXPECT_EQ(read(changed).decoder.sliding_window, 16);
  EXPECT_EQ(read(changed).encoder.sliding_window, 12);
}

struct Wrong {
  std::string path;
  const char* value;  // null: the field is missing
  Code code = Code::kCorrupt;
  const char* named = "";  // what the message holds besides file and path
};

void expect_refused(ChangedCheckpoint (*fresh)(), const std::string& file,
                    std::span<const Wrong> all) {
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.path + " = " + (wrong.value != nullptr ? wrong.value : "(missing)"));
    ChangedCheckpoint changed = fresh();
    if (wrong.value != nullptr) {
      changed.set(file, wrong.path, wrong.value);
    } else {
      changed.erase(file, wrong.path);
    }
    const std::string message = message_of(wrong.code, [&] { read(changed); });
    EXPECT_TRUE(contains(message, file)) << message;
    EXPECT_TRUE(contains(message, wrong.path)) << message;
    EXPECT_TRUE(contains(message, wrong.named)) << message;
  }
}

// The windows of both halves, whatever the file calls the halves.
std::vector<Wrong> wrong_windows(const std::string& at) {
  const std::string window = at + "sliding_window";
  return {{window, nullptr, Code::kUnsupported},
          {window, "null", Code::kUnsupported},
          {window, "0"},
          {window, "-750"},
          {window, "1.5"},
          {window, "[750]"},
          {window, "\"\""},
          {window, "\"0\""},
          {window, "\"-16\""},
          {window, "\"16 tokens\"", Code::kCorrupt, "16 tokens"},
          {window, "\"99999999999999999999\""}};
}

TEST(VoxtralConfig, AWindowThatIsNoneIsRefusedByName) {
  for (const std::string& at : {std::string(), kEncoder})
    expect_refused(mistral, kParams, wrong_windows(at));
  for (const char* at : {"text_config.", "audio_config."})
    expect_refused(transformers, kConfig, wrong_windows(at));
}

std::vector<Wrong> wrong_sizes(const std::string& at) {
  return {{at + "dim", nullptr},
          {at + "dim", "0"},
          {at + "dim", "-96"},
          {at + "dim", "96.5"},
          {at + "dim", "\"96\""},
          {at + "dim", "9223372036854775808"},
          {at + "hidden_dim", nullptr},
          {at + "hidden_dim", "0"},
          {at + "n_layers", nullptr},
          {at + "n_layers", "0"},
          {at + "n_layers", "100000"},
          {at + "n_heads", nullptr},
          {at + "n_heads", "0"},
          {at + "n_kv_heads", "0"},
          {at + "n_kv_heads", "5", Code::kCorrupt, "query heads"},
          {at + "head_dim", "0"},
          {at + "head_dim", "31", Code::kCorrupt, "even"},
          {at + "norm_eps", "0"},
          {at + "norm_eps", "-1e-5"},
          {at + "norm_eps", "1e-60"},  // 0 as a float
          {at + "norm_eps", "\"small\""},
          {at + "rope_theta", "0"},
          {at + "rope_theta", "1e300"}};
}

TEST(VoxtralConfig, ImpossibleNumbersOfParamsAreRefusedByName) {
  for (const std::string& at : {std::string(), kEncoder})
    expect_refused(mistral, kParams, wrong_sizes(at));
  const Wrong others[] = {
      {"multimodal", nullptr},
      {"multimodal", "7"},
      {"multimodal.whisper_model_args", nullptr},
      {"multimodal.whisper_model_args.encoder_args", nullptr},
      {"multimodal.whisper_model_args.encoder_args.audio_encoding_args", nullptr},
      {"multimodal.whisper_model_args.downsample_args", "4"},
      {"multimodal.whisper_model_args.downsample_args.downsample_factor", "0"},
      {"vocab_size", nullptr},
      {"vocab_size", "0"},
      {"model_max_length", "0"},
      {"tied_embeddings", "1"},
      {"ada_rms_norm_t_cond_dim", "0"},
      {kAudio + "sampling_rate", "0"},
      {kAudio + "num_mel_bins", "0"},
      {kAudio + "hop_length", "0"},
      {kAudio + "window_size", "399", Code::kCorrupt, "even"},
      {kAudio + "window_size", "158", Code::kCorrupt, "160"},
      {kAudio + "frame_rate", "25", Code::kCorrupt, "12.5"},
      {kAudio + "frame_rate", "0", Code::kCorrupt, "12.5"},
      {kAudio + "global_log_mel_max", "null", Code::kUnsupported},
      {kAudio + "global_log_mel_max", "\"1.5\""},
  };
  expect_refused(mistral, kParams, others);
}

TEST(VoxtralConfig, OtherPartsThanThisModelHasAreRefusedByName) {
  const Wrong params[] = {
      {"causal", "false", Code::kUnsupported, "true"},
      {"use_biases", "true", Code::kUnsupported, "false"},
      {kEncoder + "causal", "false", Code::kUnsupported, "true"},
      {kEncoder + "use_biases", "false", Code::kUnsupported, "true"},
      {kEncoder + "pos_embed", "\"sinusoidal\"", Code::kUnsupported, "rope"},
      {kEncoder + "ffn_type", "\"mlp\"", Code::kUnsupported, "swiglu"},
      {kEncoder + "norm_type", "\"layer_norm\"", Code::kUnsupported, "rms_norm"},
      {kAudio + "transcription_format", "\"instruct\"", Code::kUnsupported, "streaming"},
  };
  expect_refused(mistral, kParams, params);
  const Wrong config[] = {
      {"projector_hidden_act", "\"gelu_new\"", Code::kUnsupported, "gelu"},
      {"audio_config.activation_function", "\"relu\"", Code::kUnsupported, "gelu"},
      {"audio_config.hidden_act", "\"gelu\"", Code::kUnsupported, "silu"},
      {"text_config.hidden_act", "\"gelu\"", Code::kUnsupported, "silu"},
      {"text_config.rope_parameters.rope_type", "\"yarn\"", Code::kUnsupported, "default"},
      {"audio_config.rope_scaling", R"({"type":"linear"})", Code::kUnsupported, "null"},
  };
  expect_refused(transformers, kConfig, config);
}

TEST(VoxtralConfig, ImpossibleNumbersOfConfigAreRefusedByName) {
  const Wrong all[] = {
      {"audio_config", nullptr},
      {"text_config", nullptr},
      {"text_config", "[]"},
      {"text_config.hidden_size", "0"},
      {"text_config.num_hidden_layers", nullptr},
      {"text_config.intermediate_size", "0"},
      {"text_config.num_attention_heads", "0"},
      {"text_config.num_key_value_heads", "4", Code::kCorrupt, "6 query heads"},
      {"text_config.head_dim", "33", Code::kCorrupt, "even"},
      {"text_config.vocab_size", nullptr},
      {"text_config.max_position_embeddings", "0"},
      {"text_config.rope_parameters", "1000000"},
      {"text_config.rope_parameters.rope_theta", "0"},
      {"audio_config.rope_parameters.rope_theta", "\"1e6\""},
      {"audio_config.num_mel_bins", "0"},
      {"audio_config.rms_norm_eps", "0"},
      {"downsample_factor", "0"},
      {"audio_length_per_tok", "4", Code::kCorrupt, "8"},
      {"default_num_delay_tokens", "0"},
      {"default_num_delay_tokens", "6.5"},
  };
  expect_refused(transformers, kConfig, all);
  // A factor contradicts the length that follows from it.
  ChangedCheckpoint half = transformers();
  half.set(kConfig, "downsample_factor", "2");
  const std::string message = message_of(Code::kCorrupt, [&] { read(half); });
  EXPECT_TRUE(contains(message, "config.json: audio_length_per_tok")) << message;
  EXPECT_TRUE(contains(message, "downsample_factor")) << message;
}

TEST(VoxtralConfig, TheProcessorsFileIsReadAndHeldAgainstTheConfig) {
  const std::string at = "feature_extractor.";
  const Wrong all[] = {
      {at + "feature_size", "80", Code::kCorrupt, "expected 128"},
      {at + "n_fft", "512", Code::kUnsupported, "400"},
      {at + "sampling_rate", "-1"},
      {at + "hop_length", "0"},
      {at + "win_length", "401", Code::kCorrupt, "even"},
      {at + "global_log_mel_max", "null", Code::kUnsupported},
      {"feature_extractor", "[]"},
  };
  expect_refused(transformers, kProcessor, all);
  ChangedCheckpoint slow = transformers();
  slow.set(kProcessor, at + "hop_length", "200");
  EXPECT_EQ(read(slow).token_samples(), 1600);
}

TEST(VoxtralConfig, ADecoderOfOddWidthHasNoTimeEmbedding) {
  ChangedCheckpoint odd = mistral();
  odd.set(kParams, "dim", "97");
  const std::string message = message_of(Code::kCorrupt, [&] { read(odd); });
  EXPECT_TRUE(contains(message, kParams)) << message;
  EXPECT_TRUE(contains(message, "97")) << message;
}

TEST(VoxtralConfig, TheOlderVoxtralIsRefusedByName) {
  struct Older {
    ChangedCheckpoint (*fresh)();
    const char* file;
    std::string path;
    const char* value;  // null: the field is missing
    const char* named;
  };
  const Older all[] = {
      {mistral, kParams, kEncoder + "causal", "false", "causal"},
      {mistral, kParams, kEncoder + "causal", nullptr, "causal"},
      {mistral, kParams, "ada_rms_norm_t_cond", "false", "ada_rms_norm_t_cond"},
      {mistral, kParams, "ada_rms_norm_t_cond", nullptr, "ada_rms_norm_t_cond"},
      {transformers, kConfig, "model_type", "\"voxtral\"", "model_type \"voxtral\""},
      {transformers, kConfig, "model_type", "\"voxtral_tts\"", "model_type \"voxtral_tts\""},
      {transformers, kConfig, "model_type", "7", "model_type"},
      {transformers, kConfig, "model_type", nullptr, "model_type"},
  };
  for (const Older& older : all) {
    SCOPED_TRACE(older.path + " = " + (older.value != nullptr ? older.value : "(missing)"));
    ChangedCheckpoint changed = older.fresh();
    if (older.value != nullptr) {
      changed.set(older.file, older.path, older.value);
    } else {
      changed.erase(older.file, older.path);
    }
    const Checkpoint checkpoint = Checkpoint::open(changed.write());
    EXPECT_FALSE(recognise(checkpoint));
    const std::string message =
        message_of(Code::kUnsupported, [&] { recognise_family(checkpoint); });
    EXPECT_TRUE(contains(message, older.file)) << message;
    EXPECT_TRUE(contains(message, older.named)) << message;
  }
}

TEST(VoxtralConfig, EachLayoutIsRecognisedByItsFile) {
  EXPECT_TRUE(recognise(Checkpoint::open(mistral().write())));
  EXPECT_TRUE(recognise(Checkpoint::open(transformers().write())));
  EXPECT_STREQ(recognise_family(Checkpoint::open(mistral().write())).name, "voxtral");
  EXPECT_FALSE(recognise(Checkpoint::open("models/vibevoice-asr-nano")));
}

}  // namespace
}  // namespace verbatim::voxtral
