// What config.json may say: two layouts of one thing, and every number that cannot be.
#include "models/vibevoice/config.h"

#include <gtest/gtest.h>

#include "models/changed_checkpoint.h"

namespace verbatim::vibevoice {
namespace {

constexpr const char* kConfig = "config.json";
const std::string kOriginalFolder = kNano;
const std::string kTransformersFolder = std::string(kGolden) + "hf-f32-taps";

// Only the JSON files are read here.
ChangedCheckpoint without_tensors(const std::string& folder) {
  ChangedCheckpoint made(folder);
  made.tensors.clear();
  return made;
}

Config read(const ChangedCheckpoint& changed) {
  return read_config(Checkpoint::open(changed.write()));
}

void expect_equal(const EncoderConfig& a, const EncoderConfig& b) {
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.vae_dim, b.vae_dim);
  EXPECT_EQ(a.n_filters, b.n_filters);
  EXPECT_EQ(a.ratios, b.ratios);
  EXPECT_EQ(a.depths, b.depths);
  EXPECT_EQ(a.kernel_size, b.kernel_size);
  EXPECT_EQ(a.ffn_expansion, b.ffn_expansion);
  EXPECT_EQ(a.eps, b.eps);
  EXPECT_EQ(a.fix_std, b.fix_std);
}

void expect_equal(const Config& a, const Config& b) {
  expect_equal(a.acoustic, b.acoustic);
  expect_equal(a.semantic, b.semantic);
  EXPECT_EQ(a.decoder.num_hidden_layers, b.decoder.num_hidden_layers);
  EXPECT_EQ(a.decoder.hidden_size, b.decoder.hidden_size);
  EXPECT_EQ(a.decoder.intermediate_size, b.decoder.intermediate_size);
  EXPECT_EQ(a.decoder.num_attention_heads, b.decoder.num_attention_heads);
  EXPECT_EQ(a.decoder.num_key_value_heads, b.decoder.num_key_value_heads);
  EXPECT_EQ(a.decoder.head_dim, b.decoder.head_dim);
  EXPECT_EQ(a.decoder.sliding_window, b.decoder.sliding_window);
  EXPECT_EQ(a.decoder.rms_norm_eps, b.decoder.rms_norm_eps);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  EXPECT_EQ(a.vocab_size, b.vocab_size);
  EXPECT_EQ(a.max_position_embeddings, b.max_position_embeddings);
  EXPECT_EQ(a.tie_word_embeddings, b.tie_word_embeddings);
  EXPECT_EQ(a.sample_rate_hz, b.sample_rate_hz);
  EXPECT_EQ(a.normalize_audio, b.normalize_audio);
}

// The nano checkpoint's shapes in the words of transformers.
ChangedCheckpoint nano_as_transformers() {
  ChangedCheckpoint made = without_tensors(kTransformersFolder);
  for (const bool acoustic : {true, false}) {
    const std::string at =
        std::string(acoustic ? "acoustic" : "semantic") + "_tokenizer_encoder_config.";
    made.set(kConfig, at + "hidden_size", acoustic ? "32" : "64");
    made.set(kConfig, at + "num_filters", "4");
    made.set(kConfig, at + "downsampling_ratios", "[2,2,4,5,5,8]");
    made.set(kConfig, at + "depths", "[1,1,1,1,2,2,1]");
    made.set(kConfig, at + "vae_std", acoustic ? "0.625" : "0");
  }
  const std::pair<const char*, const char*> decoder[] = {{"hidden_size", "128"},
                                                         {"intermediate_size", "352"},
                                                         {"num_hidden_layers", "4"},
                                                         {"num_attention_heads", "4"},
                                                         {"num_key_value_heads", "2"},
                                                         {"vocab_size", "896"},
                                                         {"max_position_embeddings", "4096"}};
  for (const auto& [field, value] : decoder)
    made.set(kConfig, std::string("text_config.") + field, value);
  return made;
}

TEST(VibeVoiceConfig, BothLayoutsReadToTheSameConfig) {
  ChangedCheckpoint original = without_tensors(kOriginalFolder);
  original.set(kConfig, "acoustic_tokenizer_config.fix_std", "0.5");
  const Config a = read(original);
  const Config b = read(nano_as_transformers());
  EXPECT_EQ(a.layout, Layout::kOriginal);
  EXPECT_EQ(b.layout, Layout::kTransformers);
  expect_equal(a, b);
  EXPECT_EQ(a.acoustic.fix_std, 0.5F);
  EXPECT_EQ(a.acoustic.ratios, (std::vector<std::int32_t>{2, 2, 4, 5, 5, 8}));
  EXPECT_EQ(a.acoustic.depths, (std::vector<std::int32_t>{1, 1, 1, 1, 2, 2, 1}));
  EXPECT_EQ(a.acoustic.hop(), 3200);
  EXPECT_EQ(a.acoustic.width(6), 256);
  EXPECT_EQ(a.decoder.head_dim, 32);
  EXPECT_EQ(a.rope_theta, 1e6);
  EXPECT_EQ(a.audio_token, -1);
  EXPECT_EQ(b.audio_token, 489);
}

TEST(VibeVoiceConfig, EarlierSpellingsMeanTheSame) {
  const Config wanted = read(nano_as_transformers());
  ChangedCheckpoint early = nano_as_transformers();
  for (const char* which : {"acoustic", "semantic"}) {
    const std::string at = std::string(which) + "_tokenizer_encoder_config.";
    early.erase(kConfig, at + "num_filters");
    early.set(kConfig, at + "n_filters", "4");
    early.set(kConfig, at + "vae_scaling_factor", "0.8");
  }
  early.set(kConfig, "acoustic_tokenizer_encoder_config.vae_std", "0.5");
  early.erase(kConfig, "text_config.rope_parameters");
  early.set(kConfig, "text_config.rope_theta", "1000000.0");
  early.set(kConfig, "text_config.rope_scaling", "null");
  expect_equal(read(early), wanted);

  ChangedCheckpoint listed = without_tensors(kOriginalFolder);
  listed.set(kConfig, "acoustic_tokenizer_config.encoder_depths", "[1,1,1,1,2,2,1]");
  expect_equal(read(listed), read(without_tensors(kOriginalFolder)));
}

TEST(VibeVoiceConfig, WhatAFileLeavesOutHasTheReferencesDefault) {
  ChangedCheckpoint bare = without_tensors(kOriginalFolder);
  bare.remove_file("preprocessor_config.json");
  for (const char* field :
       {"rms_norm_eps", "tie_word_embeddings", "max_position_embeddings", "num_key_value_heads"}) {
    bare.erase(kConfig, std::string("decoder_config.") + field);
  }
  bare.erase(kConfig, "acoustic_tokenizer_config.layernorm_eps");
  bare.erase(kConfig, "acoustic_tokenizer_config.fix_std");
  const Config config = read(bare);
  EXPECT_EQ(config.sample_rate_hz, 24000);
  EXPECT_TRUE(config.normalize_audio);
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.max_position_embeddings, 131072);
  EXPECT_EQ(config.decoder.num_key_value_heads, 4);
  EXPECT_EQ(config.decoder.rms_norm_eps, 1e-6F);
  EXPECT_EQ(config.acoustic.eps, 1e-5F);
  EXPECT_EQ(config.acoustic.fix_std, 0.0F);
  EXPECT_EQ(config.acoustic.kernel_size, 7);
  EXPECT_EQ(config.acoustic.ffn_expansion, 4);
}

TEST(VibeVoiceConfig, HeadsMayBeOfAnyWidth) {
  ChangedCheckpoint wide = without_tensors(kOriginalFolder);
  wide.set(kConfig, "decoder_config.num_attention_heads", "6");
  wide.set(kConfig, "decoder_config.num_key_value_heads", "3");
  wide.set(kConfig, "decoder_config.head_dim", "48");
  EXPECT_EQ(read(wide).decoder.head_dim, 48);
}

struct Wrong {
  const char* path;
  const char* value;  // null: the field is missing
  Code code = Code::kCorrupt;
  const char* named = nullptr;  // what the message holds besides file and path
};

void expect_refused(const std::string& folder, const std::string& file,
                    std::span<const Wrong> all) {
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(std::string(wrong.path) + " = " + (wrong.value ? wrong.value : "(missing)"));
    ChangedCheckpoint changed = without_tensors(folder);
    if (wrong.value != nullptr) {
      changed.set(file, wrong.path, wrong.value);
    } else {
      changed.erase(file, wrong.path);
    }
    const std::string message = message_of(wrong.code, [&] { read(changed); });
    EXPECT_TRUE(contains(message, file)) << message;
    EXPECT_TRUE(contains(message, wrong.path)) << message;
    if (wrong.named != nullptr) {
      EXPECT_TRUE(contains(message, wrong.named)) << message;
    }
  }
}

TEST(VibeVoiceConfig, ImpossibleNumbersOfTheDecoderAreRefusedByName) {
  const Wrong all[] = {
      {"decoder_config", nullptr},
      {"decoder_config", "[]"},
      {"decoder_config.hidden_size", nullptr},
      {"decoder_config.hidden_size", "0"},
      {"decoder_config.hidden_size", "-128"},
      {"decoder_config.hidden_size", "128.5"},
      {"decoder_config.hidden_size", "\"128\""},
      {"decoder_config.hidden_size", "9223372036854775808"},
      {"decoder_config.intermediate_size", "0"},
      {"decoder_config.intermediate_size", nullptr},
      {"decoder_config.num_hidden_layers", "0"},
      {"decoder_config.num_hidden_layers", "100000"},
      {"decoder_config.num_attention_heads", "0"},
      {"decoder_config.num_attention_heads", nullptr},
      {"decoder_config.num_attention_heads", "6", Code::kCorrupt, "hidden_size 128"},
      {"decoder_config.num_key_value_heads", "0"},
      {"decoder_config.num_key_value_heads", "3", Code::kCorrupt, "4 query heads"},
      {"decoder_config.num_key_value_heads", "8"},
      {"decoder_config.head_dim", "0"},
      {"decoder_config.head_dim", "33", Code::kCorrupt, "even"},
      {"decoder_config.vocab_size", "0"},
      {"decoder_config.vocab_size", nullptr},
      {"decoder_config.max_position_embeddings", "0"},
      {"decoder_config.rms_norm_eps", "0"},
      {"decoder_config.rms_norm_eps", "-1e-6"},
      {"decoder_config.rms_norm_eps", "1e-60"},  // 0 as a float
      {"decoder_config.rms_norm_eps", "1e60"},
      {"decoder_config.rms_norm_eps", "\"small\""},
      {"decoder_config.rope_theta", nullptr},
      {"decoder_config.rope_theta", "0"},
      {"decoder_config.rope_theta", "-1"},
      {"decoder_config.rope_theta", "1e300"},
      {"decoder_config.tie_word_embeddings", "1"},
  };
  expect_refused(kOriginalFolder, kConfig, all);
}

TEST(VibeVoiceConfig, AnotherDecoderIsRefusedByName) {
  const Wrong all[] = {
      {"decoder_config.model_type", "\"llama\"", Code::kUnsupported, "qwen2"},
      {"decoder_config.hidden_act", "\"gelu\"", Code::kUnsupported, "silu"},
      {"decoder_config.use_sliding_window", "true", Code::kUnsupported, "false"},
      {"decoder_config.use_mrope", "true", Code::kUnsupported, "false"},
      {"decoder_config.rope_scaling", R"({"type":"yarn","factor":4})", Code::kUnsupported, "null"},
  };
  expect_refused(kOriginalFolder, kConfig, all);
  const Wrong transformers[] = {
      {"text_config.rope_parameters.rope_type", "\"yarn\"", Code::kUnsupported, "default"},
      {"text_config.rope_parameters.rope_theta", nullptr},
      {"text_config.rope_parameters.rope_theta", "0"},
      {"text_config.rope_parameters", "3"},
      {"text_config.hidden_act", "\"relu\"", Code::kUnsupported, "silu"},
  };
  expect_refused(kTransformersFolder, kConfig, transformers);
}

TEST(VibeVoiceConfig, ImpossibleNumbersOfAnEncoderAreRefusedByName) {
  const Wrong all[] = {
      {"acoustic_tokenizer_config", nullptr},
      {"semantic_tokenizer_config", nullptr},
      {"semantic_tokenizer_config.vae_dim", "0"},
      {"semantic_tokenizer_config.vae_dim", nullptr},
      {"acoustic_tokenizer_config.channels", "2"},
      {"acoustic_tokenizer_config.encoder_n_filters", "0"},
      {"acoustic_tokenizer_config.encoder_n_filters", nullptr},
      {"acoustic_tokenizer_config.encoder_ratios", nullptr},
      {"acoustic_tokenizer_config.encoder_ratios", "[]"},
      {"acoustic_tokenizer_config.encoder_ratios", "7"},
      {"acoustic_tokenizer_config.encoder_ratios", "[8,5,5,4,2,0]"},
      {"acoustic_tokenizer_config.encoder_ratios", "[8,5,5,4,2,-2]"},
      {"acoustic_tokenizer_config.encoder_ratios", "[8,5,5,4,2,2.5]"},
      {"acoustic_tokenizer_config.encoder_depths", nullptr},
      {"acoustic_tokenizer_config.encoder_depths", "\"\""},
      {"acoustic_tokenizer_config.encoder_depths", "\"1-1-1-1-2-2-x\""},
      {"acoustic_tokenizer_config.encoder_depths", "\"1-1-1-1-2-2-\""},
      {"acoustic_tokenizer_config.encoder_depths", "\"1-1-1-1-2--2-1\""},
      {"acoustic_tokenizer_config.encoder_depths", "\"1 1 1 1 2 2 1\""},
      {"acoustic_tokenizer_config.encoder_depths", "[1,1,1,1,2,2,0]"},
      {"acoustic_tokenizer_config.layernorm_eps", "0"},
      {"acoustic_tokenizer_config.layernorm_eps", "-1e-5"},
      {"acoustic_tokenizer_config.fix_std", "-0.5"},
      {"acoustic_tokenizer_config.fix_std", "1e60"},
  };
  expect_refused(kOriginalFolder, kConfig, all);
  const Wrong transformers[] = {
      {"acoustic_tokenizer_encoder_config", nullptr},
      {"acoustic_tokenizer_encoder_config.hidden_size", "0"},
      {"semantic_tokenizer_encoder_config.depths", "[]"},
      {"semantic_tokenizer_encoder_config.downsampling_ratios", nullptr},
      {"semantic_tokenizer_encoder_config.kernel_size", "0"},
      {"semantic_tokenizer_encoder_config.ffn_expansion", "0"},
      {"acoustic_tokenizer_encoder_config.rms_norm_eps", "0"},
      {"acoustic_tokenizer_encoder_config.vae_std", "-1"},
      {"acoustic_tokenizer_encoder_config.vae_scaling_factor", "0"},
      {"audio_token_id", "\"<|box_start|>\""},
  };
  expect_refused(kTransformersFolder, kConfig, transformers);
}

TEST(VibeVoiceConfig, AnEncoderOfOtherPartsIsRefusedByName) {
  const Wrong all[] = {
      {"acoustic_tokenizer_config.causal", "false", Code::kUnsupported, "true"},
      {"acoustic_tokenizer_config.conv_norm", "\"weight_norm\"", Code::kUnsupported, "none"},
      {"acoustic_tokenizer_config.layernorm", "\"LN\"", Code::kUnsupported, "RMSNorm"},
      {"acoustic_tokenizer_config.mixer_layer", "\"conv\"", Code::kUnsupported, "depthwise_conv"},
      {"acoustic_tokenizer_config.pad_mode", "\"reflect\"", Code::kUnsupported, "constant"},
      {"semantic_tokenizer_config.disable_last_norm", "false", Code::kUnsupported, "true"},
      {"semantic_tokenizer_config.conv_bias", "false", Code::kUnsupported, "true"},
  };
  expect_refused(kOriginalFolder, kConfig, all);
  const Wrong transformers[] = {
      {"semantic_tokenizer_encoder_config.hidden_act", "\"silu\"", Code::kUnsupported, "gelu"}};
  expect_refused(kTransformersFolder, kConfig, transformers);
}

TEST(VibeVoiceConfig, DepthsAndStridesBelongTogether) {
  ChangedCheckpoint changed = without_tensors(kOriginalFolder);
  changed.set(kConfig, "semantic_tokenizer_config.encoder_depths", "[1,1,1]");
  const std::string message = message_of(Code::kCorrupt, [&] { read(changed); });
  EXPECT_TRUE(contains(message, "semantic_tokenizer_config")) << message;
  EXPECT_TRUE(contains(message, "3 depths for 6 strides")) << message;
}

TEST(VibeVoiceConfig, FramesBeyondReasonAreRefused) {
  ChangedCheckpoint changed = without_tensors(kOriginalFolder);
  changed.set(kConfig, "acoustic_tokenizer_config.encoder_ratios",
              "[1024,1024,1024,1024,1024,1024]");
  EXPECT_TRUE(
      contains(message_of(Code::kCorrupt, [&] { read(changed); }), "acoustic_tokenizer_config"));
  changed = without_tensors(kOriginalFolder);
  changed.set(kConfig, "acoustic_tokenizer_config.encoder_n_filters", "1048576");
  EXPECT_TRUE(contains(message_of(Code::kCorrupt, [&] { read(changed); }), "channels"));
}

TEST(VibeVoiceConfig, EncodersOfUnequalFramesAreRefused) {
  ChangedCheckpoint changed = without_tensors(kOriginalFolder);
  changed.set(kConfig, "semantic_tokenizer_config.encoder_ratios", "[8,5,5,4,2,1]");
  const std::string message = message_of(Code::kCorrupt, [&] { read(changed); });
  EXPECT_TRUE(contains(message, "config.json")) << message;
  EXPECT_TRUE(contains(message, "3200")) << message;
  EXPECT_TRUE(contains(message, "1600")) << message;
}

TEST(VibeVoiceConfig, StreamingCheckpointsAreRefusedByName) {
  ChangedCheckpoint named = without_tensors(kOriginalFolder);
  named.set(kConfig, "architectures", R"(["VibeVoiceForASRStreamingTraining"])");
  std::string message = message_of(Code::kUnsupported, [&] { read(named); });
  EXPECT_TRUE(contains(message, "config.json: architectures")) << message;
  EXPECT_TRUE(contains(message, "VibeVoiceForASRStreamingTraining")) << message;

  ChangedCheckpoint chunked = without_tensors(kOriginalFolder);
  chunked.set("preprocessor_config.json", "chunk_frames", "22");
  message = message_of(Code::kUnsupported, [&] { read(chunked); });
  EXPECT_TRUE(contains(message, "preprocessor_config.json: chunk_frames")) << message;
}

TEST(VibeVoiceConfig, ThePreprocessorsFileIsReadAndHeldAgainstTheStrides) {
  const Wrong original[] = {
      {"speech_tok_compress_ratio", "1600", Code::kCorrupt, "expected 3200"},
      {"speech_tok_compress_ratio", "0"},
      {"target_sample_rate", "10"},
      {"normalize_audio", "\"yes\""},
  };
  expect_refused(kOriginalFolder, "preprocessor_config.json", original);
  const Wrong transformers[] = {
      {"feature_extractor.pad_to_multiple_of", "1600", Code::kCorrupt, "expected 3200"},
      {"feature_extractor.sampling_rate", "-24000"},
  };
  expect_refused(kTransformersFolder, "processor_config.json", transformers);
  ChangedCheckpoint quiet = without_tensors(kOriginalFolder);
  quiet.set("preprocessor_config.json", "normalize_audio", "false");
  quiet.set("preprocessor_config.json", "target_sample_rate", "16000");
  EXPECT_FALSE(read(quiet).normalize_audio);
  EXPECT_EQ(read(quiet).sample_rate_hz, 16000);
}

TEST(VibeVoiceConfig, OtherFamiliesAreNotRecognised) {
  for (const auto& [type, known] : {std::pair("\"vibevoice\"", true),
                                    {"\"vibevoice_asr\"", true},
                                    {"\"qwen2\"", false},
                                    {"null", false},
                                    {"7", false}}) {
    ChangedCheckpoint changed = without_tensors(kOriginalFolder);
    changed.set(kConfig, "model_type", type);
    EXPECT_EQ(recognise(Checkpoint::open(changed.write())), known) << type;
  }
}

}  // namespace
}  // namespace verbatim::vibevoice
